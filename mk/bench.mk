# What the program does in how much time and memory, beside something that does
# the same with less, in the same run.

# What the script in Python imports that the pipeline is measured beside. It is kept under
# a name that follows from what is pinned.
SCRIPT := bench/pipeline/requirements.txt
SCRIPT_DIR = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/script-$(shell sha256sum <$(SCRIPT) | cut -c1-12)

.PHONY: bench-peers
bench-peers: servers clients ## install the programs that make bench measures ours beside
	$(call packages,lftp:lftp unzip:unzip aria2c:aria2 rclone:rclone bsdtar:libarchive-tools)
	@if [ -e $(SCRIPT_DIR) ]; then exit 0; fi; mkdir -p $(dir $(SCRIPT_DIR)); part=$$(mktemp -d $(SCRIPT_DIR).XXXXXX); \
	if PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target $$part/lib -r $(SCRIPT); then mv $$part/lib $(SCRIPT_DIR); \
	else echo "the Python packages of $(SCRIPT) can't be fetched: what needs them is skipped"; fi; rm -rf $$part

# Every row of docs/explanation/performance.md, or ROW=name,… of them; what each needs is
# listed by go run ./bench -list. ROUNDS is how often each is measured, where it isn't as
# its bench has it.
.PHONY: bench
bench: build engines bench-peers ## the table of what is fast beside what else: all rows, or ROW=name
	PYTHONPATH=$(SCRIPT_DIR) $(GO) run ./bench -binary $(BIN) $(if $(ROW),-row $(ROW)) $(if $(ROUNDS),-rounds $(ROUNDS))

.PHONY: bench-against
bench-against: ## processor and memory of fixed work, beside the commit in bench/baseline; fails beyond 15 %
	$(GO) run ./bench/against

# The time of the processor, and the statements and bytes of log of Postgres, that a zip
# takes. A machine that is busy elsewhere measures the same, or nearly.
.PHONY: bench-cost
bench-cost: build engines servers ## what 500 zips cost: processor, statements, log of Postgres
	$(GO) run ./bench/pipeline -binary $(BIN) -zips 500 -cost 20

# What READERS people who have a page open, and hear of changes, cost ingest: every
# other slice of the corpus is ingested while they look on, in the same run.
#   make bench-readers ZIPS=4000 READERS=500
.PHONY: bench-readers
bench-readers: build engines ## ingest with and without READERS pages open, slice by slice in the same run
	$(GO) run ./bench/readers -binary $(BIN) -zips $(or $(ZIPS),4000) -readers $(or $(READERS),500)

# Throughput per number of members, and the runtime's own cost.
# FILES, MEMBERS and RECORDS make a campaign of it:
#   make bench-scale FILES=2400 MEMBERS=1,2,4,8
MEMBERS ?= 1,2,4,8
.PHONY: bench-scale
bench-scale: engines ## 1, 2, 4 and 8 members over a server of 50 ms a request; CPU per record
	$(GO) run ./bench/scale -files $(or $(FILES),400) -members $(MEMBERS) -records $(or $(RECORDS),200000)

# How fast the history is filled again, against a plain INSERT of prepared
# blocks of the same rows into the same table, round by round in the same run;
# what both cost in time of the processor; in how much memory, of the process
# and of ClickHouse's engine beside it; how fast it is verified; and how long
# each rollup takes. HISTORY_EVENTS is how many events there are, HISTORY_ROUNDS
# how often it is measured.
#   make bench-history HISTORY_EVENTS=5000000 HISTORY_ROUNDS=1
.PHONY: bench-history
bench-history: engines ## history rebuild and verify against a plain INSERT (HISTORY_EVENTS, HISTORY_ROUNDS)
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_HISTORY_EVENTS=$(or $(HISTORY_EVENTS),300000) TRIBUTARY_HISTORY_ROUNDS=$(or $(HISTORY_ROUNDS),3) \
	  $(GO) test -count=1 -timeout 120m -run '^(TestRollupTimes|TestRebuildAgainstPlainInsert)$$' -v ./consumers/history
