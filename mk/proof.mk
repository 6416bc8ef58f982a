# Suites that prove the laws beyond single tests (test/README.md says which law
# each is for). They run in .ci/run in short forms, and as long as anybody likes
# with make campaign.
#
# Variables of several suites:
#   SEED    of the corpus and of all that is random (1)
#   RUNS    how many seeds from SEED on make sim (200) and make chaos (30) play
#   KILLS   how often processes are killed
#   BUDGET  the time after which a campaign begins nothing more, such as 8h (2h)
#   STATE   where campaigns remember what was done, to go on from there
SEED ?= $(or $(TRIBUTARY_SEED),1)
STATE ?= out/campaign
GO_ENGINES := TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SEED=$(SEED)

# A suite whose last line is the summary that the tests write.
# $(1): environment; $(2): tests; $(3): package; $(4): time-out
define counted
	@summary=$$(mktemp); status=0; \
	$(GO_ENGINES) TRIBUTARY_SUMMARY=$$summary $(1) $(GO) test -count=1 -timeout $(4) -v -run '$(2)' $(3) || status=$$?; \
	cat "$$summary" 2>/dev/null; rm -f "$$summary"; exit $$status
endef

# All suites in turn, until BUDGET is over. Each goes on with the seeds after those
# that it has played, also of other days; what a turn prints is kept if it fails.
# ONLY names suites, such as "sim chaos".
.PHONY: campaign
campaign: engines servers clients ## the long suites in turn for BUDGET; goes on where it stopped, keeps what it found
	$(GO) run ./test/campaign -budget $(or $(BUDGET),2h) -state $(abspath $(STATE)) $(ONLY)

## Simulation

# The whole pipeline in one process and virtual time, with faults drawn from a
# seed. make sim SEED=7 RUNS=1 plays one seed and prints what happened; the last
# line says how many seeds broke a law, and the exit status is 1 if one did. A
# failing seed's trace is printed, and kept in SIM_TRACES.
SIM_RUNS := $(or $(RUNS),200)
SIM_TRACES ?= bin/sim
SIM_BATCH ?= 250
SIM_REAL_TRACES ?= bin/sim-real
SIM_AT_ONCE ?= 2

# Plays seeds in processes of no more than SIM_BATCH, so that one that ends
# badly costs no more than that. $(1): what to do after each good one.
define sim
	@mkdir -p bin $(SIM_TRACES)
	@$(GO) test -tags synctests -c -o bin/sim.test ./test/sim
	@commit=$$(git rev-parse --short HEAD); traces=$$(cd $(SIM_TRACES) && pwd); binary=$$(pwd)/bin/sim.test; seeds=0; violations=0; seed=$(SEED); end=$$(($(SEED) + $(SIM_RUNS))); \
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
	@bin/sim-wasm -module bin/sim.wasm -profiles test/profiles -cache bin/sim-wasm.cache -traces $(SIM_TRACES) -seed $(SEED) -runs $(SIM_RUNS) -without '$(SIM_WITHOUT)'

# The same seeds with the product's own roles on a real Postgres, in real time:
# half a minute each, SIM_AT_ONCE at once, since they mostly wait. What fails is
# printed, and kept in SIM_REAL_TRACES.
.PHONY: sim-real
sim-real: engines ## play seeds on a real Postgres in real time; the last line counts violations
	@mkdir -p bin $(SIM_REAL_TRACES)
	@$(GO) test -tags synctests -c -o bin/sim-real.test ./test/sim
	@traces=$$(cd $(SIM_REAL_TRACES) && pwd); binary=$$(pwd)/bin/sim-real.test; rm -f $$traces/summary; \
	(cd test/sim && TRIBUTARY_REQUIRE_ENGINES=1 SIM_REAL=1 SIM_AT_ONCE=$(SIM_AT_ONCE) SIM_SEED=$(SEED) SIM_RUNS=$(SIM_RUNS) SIM_TRACES=$$traces SIM_SUMMARY=$$traces/summary \
	  $$binary -test.timeout $$(($(SIM_RUNS) * 5))m -test.run '^TestReal$$') | grep --line-buffered -v '^PASS$$' || true; \
	if ! read -r first played bad <$$traces/summary 2>/dev/null; then played=$(SIM_RUNS); bad=1; echo "the process ended before its end"; fi; \
	echo "$$played seeds, $$bad violations"; [ $$bad = 0 ]

# The life of a position: a model of all who write, read and decide, judged by the
# program's own rule (test/positions). In go test ./... it plays a hundred lives.
# What fails is made smaller and printed with the log, and with the seed that
# plays it again: make positions POSITIONS_FLAGS=-rapid.seed=N
# CHECKS is how many lives, STEPS what happens in one, on average.
CHECKS ?= 20000
STEPS ?= 50
POSITIONS_FLAGS ?=

.PHONY: positions
positions: ## play CHECKS lives of positions that are forged, lost, repeated, decided about and restored
	$(GO) test -count=1 -timeout 0 -v ./test/positions -rapid.checks=$(CHECKS) -rapid.steps=$(STEPS) -rapid.nofailfile $(POSITIONS_FLAGS)

# Properties that ask a database, each on DRAWS cases of SEED: plain tests draw a few.
DRAWS ?= 200
PROPERTIES := TestAnyOrderGivesTheSame|TestUnloadRestores|TestAnyCutGivesTheSame|TestAnyOrderGivesTheSameRows|TestAnyOrderGivesTheSameRowsAlone|TestTakingUpKeepsToLimits|TestMinimalPollsLoseNothingAndWithdrawNothing|TestPartsLoadWhatTheWholeLoads

.PHONY: properties
properties: engines ## properties of insert, tracker and poll on DRAWS cases each, drawn from SEED
	TRIBUTARY_REQUIRE_ENGINES=1 $(GO) test -count=1 -timeout 0 -run '^($(PROPERTIES))$$' ./consumers/insert ./consumers/tracker ./producers/poll -rapid.checks=$(DRAWS) -rapid.seed=$(SEED) -rapid.nofailfile

## Real processes

# Separate processes on real engines under faults, and crashes at labelled steps.
# In one run of five under faults, files are replayed too. After each run, here
# and in make test-kafka, the commands tracker verify, history verify and
# warehouse verify must find everything equal.
#
#   KIND     of fault: kill, pause, roll, broker, postgres, clickhouse, disk,
#            servers, or all, mixed
#   FAULTS   how long a run's faults last (15s; 300s in a campaign)
#   CRASHES  how many crash points the short form takes
KIND ?= all
FAULTS ?= 15s
CRASHES ?= 16

# Runs of which seed n is the n-th; a run that fails names its seed.
.PHONY: chaos
chaos: engines servers ## separate processes under kill -9, SIGSTOP, upgrades, lost engines: RUNS runs of 15 s
	$(call counted,TRIBUTARY_CHAOS=$(or $(RUNS),30) TRIBUTARY_CHAOS_KIND=$(KIND) TRIBUTARY_CHAOS_FAULTS=$(FAULTS),^TestChaos$$,./test/e2e/,0)

.PHONY: chaos-campaign
chaos-campaign: engines servers ## 30 runs of 300 s of one KIND of fault, within BUDGET; goes on where it stopped
	@mkdir -p $(STATE)
	$(call counted,TRIBUTARY_CHAOS=$(or $(RUNS),30) TRIBUTARY_CHAOS_KIND=$(KIND) TRIBUTARY_CHAOS_FAULTS=300s TRIBUTARY_CAMPAIGN=$(abspath $(STATE))/chaos-$(KIND)-$(SEED).jsonl TRIBUTARY_BUDGET=$(or $(BUDGET),2h),^TestChaos$$,./test/e2e/,0)

.PHONY: paused
paused: engines ## an insert process stopped at each of its steps wakes up after another took over
	$(call counted,TRIBUTARY_CHAOS=1,^TestPausedInsert,./test/e2e/,30m)

.PHONY: crashpoints
crashpoints: engines ## kill the program at CRASHES of its labelled steps and compare what becomes of it
	$(call counted,TRIBUTARY_CRASHES=$(CRASHES),^TestCrashPoints$$,./test/e2e/,30m)

.PHONY: crashpoints-campaign
crashpoints-campaign: engines ## kill the program at every occurrence of every labelled step, within BUDGET
	@mkdir -p $(STATE)
	$(call counted,TRIBUTARY_CRASHES=all TRIBUTARY_CAMPAIGN=$(abspath $(STATE))/crashpoints-$(SEED).jsonl TRIBUTARY_BUDGET=$(or $(BUDGET),2h),^TestCrashPoints$$,./test/e2e/,0)

.PHONY: test-kill
test-kill: engines servers ## kill -9 the whole program 50 times (KILLS), Postgres beside commands, and compare what is in the warehouse
	$(call whole,TRIBUTARY_KILLS=$(or $(KILLS),50),Kill|WhilePostgresDies,60m)

# The whole corpus of a seed in other orders than it has; plain go test has three,
# with what inserts alone.
#   make orders ORDERS=100
.PHONY: orders
orders: engines servers ## the same files in ORDERS other orders give the same warehouse, every tenth time with the whole program
	$(call whole,TRIBUTARY_ORDERS=$(or $(ORDERS),10),^(TestOtherOrders|TestWholeCorpusInAnotherOrder)$$,60m)

# Everything but insert over a larger corpus, and then insert.
#   make insert-away AWAY_ZIPS=5000
.PHONY: insert-away
insert-away: engines ## with insert away memory and outboxes stay bounded, and all resumes (AWAY_ZIPS)
	$(GO_ENGINES) TRIBUTARY_AWAY_ZIPS=$(or $(AWAY_ZIPS),1000) $(GO) test -count=1 -timeout 60m -v -run TestInsertIsAway ./test/e2e

## What is made anew, asked, done again

# A suite of the whole program. $(1): environment; $(2): tests; $(3): time-out
whole = $(GO_ENGINES) $(1) $(GO) test -count=1 -timeout $(3) -v -run '$(2)' ./test/e2e/

# Schemas that are lost and made anew: the warehouse from document.ordered and
# the blobs, also while ingest goes on and the rebuild is killed; control from
# the topics, also in the middle of a round or of a replay that is killed; and
# warehouse, tracker and ClickHouse's directory at once, at rest, while files
# come, and with control in the middle of a round. Plain tests have a short form
# of the first two.
LOST := TestDroppedWarehouseIsRebuilt|TestWarehouseIsRebuiltWhileIngestGoesOn|TestControlIsRestored|TestControlIsRestoredInTheMiddle|TestEverythingIsLost|TestEverythingIsLostWhileIngestGoesOn|TestEverythingIsLostWithControl|TestReplaysAreRestored

.PHONY: lost
lost: engines ## lose warehouse, tracker, history and control, alone and at once, under load and kill -9, and get them back
	$(call whole,TRIBUTARY_LOST=1,^($(LOST))$$,30m)

# In go test ./... two of each are killed.
#   make test-history-kills KILLS=50
.PHONY: test-history-kills
test-history-kills: engines ## kill -9 of processes that rebuild the history, and of the engine under them: KILLS of each
	$(GO_ENGINES) TRIBUTARY_HISTORY_KILLS=$(or $(KILLS),20) $(GO) test -count=1 -timeout 60m -run '^TestKilledRebuild$$' -v ./consumers/history

# The past: what the live tracker answers is recorded while members are killed
# and restarted, and later the commands with --as-of and diff say the same. Plain
# go test does so in one process, event by event (queries/asof).
.PHONY: test-asof
test-asof: engines ## what --as-of and diff say equals what was recorded of the live tracker under faults
	$(call whole,TRIBUTARY_ASOF=1,^TestThePastIsWhatTheLiveTrackerSaid$$,20m)

# Replays end to end: from every phase, twice at once with kill -9 in between,
# consumer groups whose offsets somebody reset, shadows, and what is stale. go test
# ./... runs the first on the small corpus, from unzip alone. A campaign: make
# test-replay REPLAY=demo KILLS=20.
REPLAY ?= small
REPLAYS := TestReplay|TestReplayTwiceAtOnce|TestReplayOfAnOlderVersion|TestOffsetsResetByHand|TestOffsetsResetByHandUnderAnotherProfile|TestShadow|TestShadowOfAMapping|TestStale

.PHONY: test-replay
test-replay: engines ## replays through the whole program: every phase, kill -9, offsets reset by hand, shadows, what is stale
	$(call whole,TRIBUTARY_REPLAY=$(REPLAY) TRIBUTARY_KILLS=$(or $(KILLS),2),^($(REPLAYS))$$,30m)

# What the recipes over the history answer, compared with the oracle of a corpus
# that went through real servers, and with the log as the broker has it.
# RECIPES_CORPORA says which corpora.
RECIPES_CORPORA ?= small demo

.PHONY: test-recipes
test-recipes: engines servers ## every recipe over the history, compared with the oracle of a corpus
	for shape in $(RECIPES_CORPORA); do \
		$(call whole,TRIBUTARY_RECIPES=$$shape,^TestRecipesMatchTheOracle$$,15m) || exit 1; \
	done

# Dead letters end to end: poison is set aside with its cause, the rest goes on,
# and a replay completes it once. In go test ./... a small corpus does; here it
# is the demo's, and insert's letters too, which wait for a pause of 30 s.
.PHONY: test-dlq
test-dlq: engines ## dead letters through the whole program: set aside, listed, replayed once, dropped
	$(call whole,TRIBUTARY_DLQ=1,^(TestDeadLetters|TestWhatInsertGivesUpIsReplayed)$$,20m)

.PHONY: test-upgrade
test-upgrade: engines ## what the program before left on the disk is opened, and members of both run side by side
	$(GO_ENGINES) TRIBUTARY_UPGRADE=all $(GO) test -count=1 -timeout 20m -v ./test/upgrade/

## From outside, and wrong programs

# The program attacked from outside: servers that misbehave at one step of their
# conversation, records that nobody wrote, another account of the machine.
#
#   SEEDS   how many seeds of conversations (2000 in a campaign, 210 in make
#           test-hostile)
#   BATCH   hostile sources beside a good one at once (25)
# A seed that fails is named; make hostile-campaign SEED=n SEEDS=1 repeats it.
SEEDS ?= 2000
BATCH ?= 25

# Tests of what was found that lie in other packages (test/hostile/doc.go). make
# check runs them, too; make test-hostile alone is to be the whole proof.
FOUND_IN := ./internal/kafka ./topics ./recovery/restore ./recovery/replay ./producers/poll ./producers/schedule ./consumers/insert ./consumers/tracker \
  ./consumers/sequence ./consumers/download ./consumers/unzip ./consumers/validate ./queries/report ./internal/engine/chdb ./internal/engine/pgdoor ./internal/engine/broker ./internal/engine/entrance ./internal/remote/... ./consumers/traces ./internal/xsdcheck ./queries/plot \
  ./internal/blob ./internal/chain ./test/recipes ./test/e2e
FOUND := Marker|EmptiedBatch|GivesNothing|RebuildKeepsWhat|RebuildBesideWhat|MembersAreSeen|KnowsAVerification|NotKnown|UnknownNames|EnginesWords|TellsItsFirst|FailedPhase|WhatArrived|AreDescribed|ContradictsAnother|AnyForged|RefusesABroken|DamagedBytes|DamagedBlobsHeal|WhateverHappenedToABlob|HostileTexts|CSVCells|OutputsObey|ReadersLimits|TellsNothingOfFiles|NoFileIsATable|IsAnnouncedIsTakenUp|AnotherCentresFile|KeepsFailing|OverrunIs|OneMoment|OnlyReads|StandsInNobodysWay|HostileConversations|OwnStatementsAreCancelled|FurtherWays|ConnectionsAreBounded|SilenceEnds|AHugeStatement|WhoeverGoesLeaves|TemporaryFilesAreBounded|UsersAreRefused|KeepOutOfThePipeline|StrangersAskForNothing|TooManyStrangers|StrangersAreBounded|NoRequestEndsTheBroker|LooksAfterGroups|PacketsAreJudged|RequestsHaveBounds|SilentCollector

.PHONY: test-hostile
test-hostile: test-outside ## what was found from outside, 210 misbehaving conversations, records that nobody wrote, another account
	TRIBUTARY_REQUIRE_ENGINES=1 $(GO) test -count=1 -timeout 15m -run '$(FOUND)' $(FOUND_IN)

.PHONY: test-outside
test-outside: engines ## make test-hostile without what make check runs as well
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_HOSTILE=1 $(GO) test -count=1 -timeout 15m -parallel 3 -v ./test/hostile/

.PHONY: complaints
complaints: engines ## what users of such systems complain of, forty tests by number (docs/explanation/what-goes-wrong.md)
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_COMPLAINTS=1 $(GO) test -count=1 -timeout 60m -v -run '^TestComplaints$$' ./test/docs

.PHONY: hostile-campaign
hostile-campaign: engines ## SEEDS misbehaving conversations from SEED on, BATCH of them at once
	$(call counted,TRIBUTARY_HOSTILE=1 TRIBUTARY_HOSTILE_SEEDS=$(SEEDS) TRIBUTARY_HOSTILE_BATCH=$(BATCH) TRIBUTARY_HOSTILE_HALVES=1,^TestConversations$$,./test/hostile/,0)

# Transfers of a file of BYTES from real servers, each cut five times: how many bytes
# were fetched, and in how much memory. The servers' and the store's files lie in TMPDIR,
# twice BYTES at once.
BYTES ?= 10737418240

.PHONY: cuts-campaign
cuts-campaign: servers ## a file of BYTES over SFTP, FTP, HTTP and S3, cut five times each: bytes fetched, memory above idle
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_CUTS_BYTES=$(BYTES) $(GO) test -count=1 -timeout 0 -v -run '^TestFiveCuts$$' ./consumers/download

# Servers that are away, let in fewer than they allow, deny and lose files for
# OUTAGES_SECONDS while OUTAGES_ZIPS wait to be fetched.
OUTAGES_ZIPS ?= 10000
OUTAGES_SECONDS ?= 120

.PHONY: outages
outages: engines ## 10,000 files over two minutes of outage: sessions within their cap, goroutines and descriptors as before
	$(GO_ENGINES) TRIBUTARY_PATIENCE=30m TRIBUTARY_OUTAGES_ZIPS=$(OUTAGES_ZIPS) TRIBUTARY_OUTAGES_SECONDS=$(OUTAGES_SECONDS) \
	  $(GO) test -count=1 -timeout 120m -v -run '^TestOutages$$' ./test/e2e

# Wrong programs, each of which a named test must catch (test/mutants).
# TRIBUTARY_MUTANTS=name,… runs some of them; without it all are run. What was
# caught before on the same code is known and not run again, except with
# MUTANTS_FLAGS=-fresh.
MUTANTS_FLAGS ?=
MUTANTS_BUDGET ?= 2m

.PHONY: mutants
mutants: engines servers ## wrong programs that the tests must catch; the last line counts them
	$(GO) run ./test/mutants $(MUTANTS_FLAGS)

.PHONY: mutants-short
mutants-short: engines servers ## the same for two minutes (MUTANTS_BUDGET); the next run goes on with what is left
	$(GO) run ./test/mutants -budget $(MUTANTS_BUDGET) -from "$$(git rev-parse HEAD 2>/dev/null || date +%F)" $(MUTANTS_FLAGS)

# The pages in a real Chromium; screenshots are kept in out/browser.
.PHONY: test-browser
test-browser: engines browser ## every page in Chromium: widths, themes, without scripts, axe-core, live updates, keys
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_BROWSER=1 TRIBUTARY_BINARY=$(abspath $(BIN)) $(GO) test -count=1 -timeout 30m -v ./test/browser

# The README's pictures, of the demo after a fortnight in LIVES; make test-browser has
# a short form.
LIVES ?= 5m

.PHONY: screenshots
screenshots: engines servers browser ## make docs/images anew: the demo that lives, in Chromium
	@mkdir -p docs/images
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_BROWSER=1 TRIBUTARY_BINARY=$(abspath $(BIN)) TRIBUTARY_DEMO_LIVE=$(LIVES) TRIBUTARY_SCREENSHOTS=$(CURDIR)/docs/images \
	  $(GO) test -count=1 -timeout 30m -v -run '^TestTheDemoLives$$' ./test/browser

# Rules and dashboards of compose/ on what the demo exposes, by Prometheus' own engine.
.PHONY: test-monitoring
test-monitoring: engines servers ## each query of dashboards and rules on what a run exposes; a series that fires each alert
	cd test/monitoring && $(GO) vet . && TRIBUTARY_MONITORING=1 $(GO) test -count=1 -timeout 30m .

## Other people's tools

# Other people's tools at the door of the embedded Postgres. The JDBC driver of
# DBeaver and Metabase comes from Maven Central, pinned and checksummed; without
# Maven or a Java compiler it is skipped.
PGJDBC_VERSION := 42.7.10
PGJDBC_SHA256 := cab1cd67cfa25c25de4348e532298028288a877ba01c77d1619fe45416193387
PGJDBC_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/pgjdbc
PGJDBC_JAR := $(PGJDBC_DIR)/postgresql-$(PGJDBC_VERSION).jar

.PHONY: clients-sql
clients-sql: ## install the SQL clients of others that make test-clients-sql tries
	$(call packages,psql:postgresql-client isql:unixodbc mvn:maven javac:default-jdk-headless)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  for p in odbc-postgresql python3-psycopg2; do dpkg -s $$p >/dev/null 2>&1 || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$p >/dev/null; done; \
	fi
	@if [ ! -e $(PGJDBC_JAR) ]; then \
	  if ! command -v mvn >/dev/null; then echo "no Maven to fetch the JDBC driver with: skipped"; else \
	    mkdir -p $(PGJDBC_DIR)/part; \
	    mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.postgresql:postgresql:$(PGJDBC_VERSION):jar -DoutputDirectory=$(PGJDBC_DIR)/part; \
	    echo "$(PGJDBC_SHA256)  $(PGJDBC_DIR)/part/postgresql-$(PGJDBC_VERSION).jar" | sha256sum --check --quiet; \
	    mv $(PGJDBC_DIR)/part/postgresql-$(PGJDBC_VERSION).jar $(PGJDBC_JAR); rm -rf $(PGJDBC_DIR)/part; \
	  fi; \
	fi

.PHONY: test-clients-sql
test-clients-sql: engines clients-sql ## psql, JDBC, psycopg, ODBC, pgx and Grafana's queries read through postgres.listen
	TRIBUTARY_PGJDBC=$$([ -e $(PGJDBC_JAR) ] && echo $(PGJDBC_JAR)) $(GO) test -count=1 -timeout 10m -v ./test/clients/sql
