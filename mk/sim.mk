# The simulation: the whole pipeline in one process and virtual time, with faults
# drawn from a seed. `make sim SEED=7 RUNS=1` plays one seed and prints what
# happened; the last line says how many seeds broke a law, and the exit status
# is 1 if one did. A failing seed's trace is printed, and kept in SIM_TRACES.
SEED ?= 1
RUNS ?= 200
SIM_TRACES ?= bin/sim
SIM_BATCH ?= 250
SIM_REAL_TRACES ?= bin/sim-real
SIM_AT_ONCE ?= 2

# Plays seeds in processes of no more than SIM_BATCH, so that one that ends
# badly costs no more than that. $(1): what to do after each good one.
define sim
	@mkdir -p bin $(SIM_TRACES)
	@$(GO) test -tags synctests -c -o bin/sim.test ./test/sim
	@commit=$$(git rev-parse --short HEAD); traces=$$(cd $(SIM_TRACES) && pwd); binary=$$(pwd)/bin/sim.test; seeds=0; violations=0; seed=$(SEED); end=$$(($(SEED) + $(RUNS))); \
	while [ $$seed -lt $$end ]; do \
	  n=$$((end - seed)); if [ $$n -gt $(SIM_BATCH) ]; then n=$(SIM_BATCH); fi; rm -f $$traces/summary; \
	  (cd test/sim && SIM_SEED=$$seed SIM_RUNS=$$n SIM_TRACES=$$traces SIM_SUMMARY=$$traces/summary $$binary -test.timeout 60m -test.run '^TestSimulation$$') | grep -v '^PASS$$' || true; \
	  if read -r first played bad <$$traces/summary 2>/dev/null; then :; else played=$$n; bad=1; echo "seeds $$seed to $$((seed + n - 1)): the process ended before its end"; fi; \
	  seeds=$$((seeds + played)); violations=$$((violations + bad)); \
	  if [ $$bad = 0 ]; then $(1); fi; \
	  seed=$$((seed + n)); \
	done; \
	echo "$$seeds seeds, $$violations violations"; [ $$violations = 0 ]
endef

.PHONY: sim
sim: ## simulate the pipeline with faults, RUNS seeds from SEED on; the last line counts violations
	$(call sim,:)

.PHONY: sim-record
sim-record: ## the same, and note the seeds that held in test/sim/seeds.txt
	$(call sim,echo "$$seed $$((seed + played - 1)) $$played $$commit" >>test/sim/seeds.txt)

# Seeds played in WebAssembly, which has one thread, and whose clock and all of
# whose randomness are the host's: the same seed gives the same trace, byte for
# byte. Each is played twice and compared; what breaks a law is shrunk to what
# still breaks it. `make sim-repeat SEED=7 RUNS=1` prints the trace, and
# SIM_WITHOUT=1,4 leaves out what it says that a short trace lacks. Traces are
# kept in SIM_TRACES. It takes some four times the processor of `make sim`, and
# a minute or two to compile after a change.
.PHONY: sim-repeat
sim-repeat: ## play seeds twice, each time with the same trace, and shrink what breaks a law
	@mkdir -p bin $(SIM_TRACES)
	@GOOS=wasip1 GOARCH=wasm $(GO) test -tags synctests -ldflags '-s -w' -c -o bin/sim.wasm ./test/sim
	@$(GO) -C test/sim/wasm test . >/dev/null
	@$(GO) -C test/sim/wasm build -o $(CURDIR)/bin/sim-wasm .
	@bin/sim-wasm -module bin/sim.wasm -profiles test/profiles -cache bin/sim-wasm.cache -traces $(SIM_TRACES) -seed $(SEED) -runs $(RUNS) -without '$(SIM_WITHOUT)'

# The same seeds with the product's own roles on a real Postgres, in real time:
# half a minute each, SIM_AT_ONCE at once, since they mostly wait. What fails is
# printed, and kept in SIM_REAL_TRACES.
.PHONY: sim-real
sim-real: ## play seeds on a real Postgres in real time; the last line counts violations
	@mkdir -p bin $(SIM_REAL_TRACES)
	@$(GO) test -tags synctests -c -o bin/sim-real.test ./test/sim
	@traces=$$(cd $(SIM_REAL_TRACES) && pwd); binary=$$(pwd)/bin/sim-real.test; rm -f $$traces/summary; \
	(cd test/sim && TRIBUTARY_REQUIRE_ENGINES=1 SIM_REAL=1 SIM_AT_ONCE=$(SIM_AT_ONCE) SIM_SEED=$(SEED) SIM_RUNS=$(RUNS) SIM_TRACES=$$traces SIM_SUMMARY=$$traces/summary \
	  $$binary -test.timeout $$(($(RUNS) * 5))m -test.run '^TestReal$$') | grep --line-buffered -v '^PASS$$' || true; \
	if ! read -r first played bad <$$traces/summary 2>/dev/null; then played=$(RUNS); bad=1; echo "the process ended before its end"; fi; \
	echo "$$played seeds, $$bad violations"; [ $$bad = 0 ]
