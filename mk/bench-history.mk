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

# In go test ./... two of each are killed.
#   make test-history-kills KILLS=50
.PHONY: test-history-kills
test-history-kills: engines ## kill -9 of processes that rebuild the history, and of the engine under them: KILLS of each
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_HISTORY_KILLS=$(or $(KILLS),20) $(GO) test -count=1 -timeout 60m -run '^TestKilledRebuild$$' -v ./consumers/history
