# How fast the history is filled again, against a plain INSERT of prepared
# blocks in the same run, in how much memory, how fast it is verified, and how
# long each rollup takes. HISTORY_EVENTS is how many events there are.
#   make bench-history HISTORY_EVENTS=5000000
.PHONY: bench-history
bench-history: engines ## history rebuild and verify against a plain INSERT (HISTORY_EVENTS)
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_HISTORY_EVENTS=$(or $(HISTORY_EVENTS),300000) \
	  $(GO) test -count=1 -timeout 120m -run '^(TestRollupTimes|TestRebuildAgainstPlainInsert)$$' -v ./consumers/history
