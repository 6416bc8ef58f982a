# What the program does in how much time and memory, beside something that does
# the same with less, in the same run.

.PHONY: bench
bench: engines servers clients ## the whole pipeline beside lftp, unzip and xmllint
	$(call packages,lftp:lftp unzip:unzip)
	$(GO) run ./bench

# The download stage beside lftp (SFTP, FTP), aria2c (HTTP) and rclone (S3), and for the
# last two beside a floor. It fails where a row is below what is asked of it.
#   make bench-transfer TRANSFER_FLAGS="-protocols http -small 500 -large 4 -rounds 2"
.PHONY: bench-transfer
bench-transfer: servers ## files fetched, hashed and stored durably, beside lftp, aria2c and rclone (TRANSFER_FLAGS)
	$(call packages,lftp:lftp aria2c:aria2 rclone:rclone)
	$(GO) run ./bench/transfer $(TRANSFER_FLAGS)
# The time of the processor, and the statements and bytes of log of Postgres, that a zip
# takes; and what waiting takes, of four sources that are polled every 2 s or of none.
# A machine that is busy elsewhere measures the same, or nearly.
.PHONY: bench-cost bench-idle
bench-cost: build engines servers ## what 500 zips cost: processor, statements, log of Postgres
	$(GO) run ./bench -binary $(BIN) -zips 500 -cost 20

bench-idle: build engines servers ## what waiting costs, a second: with polls every 2 s, and with none
	$(GO) run ./bench/idle -binary $(BIN)
	$(GO) run ./bench/idle -binary $(BIN) -interval 1h

# Files that appear all at once, beside the same files in runs of RUN; and of one centre.
#   make bench-burst ZIPS=2000 RUN=500
.PHONY: bench-burst
bench-burst: build engines servers ## ZIPS zips at once beside runs of RUN, and 4,000 of one centre: zips per second, the first document
	$(GO) run ./bench/burst -binary $(BIN) -zips 4000 -centres 1 -run 0
	$(GO) run ./bench/burst -binary $(BIN) -zips $(or $(ZIPS),10000) -run $(or $(RUN),500)

.PHONY: bench-insert
bench-insert: engines ## a document of 4,000 experiments loaded, beside a bare COPY of its rows
	$(GO) run ./bench/insert

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

# How fast the tracker is rebuilt from the log, beside a raw COPY of the same
# rows, and in how much memory. EVENTS is the length of the log; a campaign
# takes five million, which need 8 GB of disk for a quarter of an hour:
#   make bench-rebuild EVENTS=5000000
.PHONY: bench-rebuild
bench-rebuild: engines ## tracker rebuild beside a raw COPY of the same rows: EVENTS events
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_REBUILD_EVENTS=$(or $(EVENTS),280000) $(GO) test -count=1 -timeout 0 -v -run '^TestRebuildBesideCopy$$' ./consumers/tracker

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
