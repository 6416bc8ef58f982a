# How fast the tracker is rebuilt from the log, beside a raw COPY of the same
# rows, and in how much memory. EVENTS is the length of the log; a campaign
# takes five million, which need 8 GB of disk for a quarter of an hour:
#   make bench-rebuild EVENTS=5000000
.PHONY: bench-rebuild
bench-rebuild: engines ## tracker rebuild beside a raw COPY of the same rows: EVENTS events
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_REBUILD_EVENTS=$(or $(EVENTS),280000) $(GO) test -count=1 -timeout 0 -v -run '^TestRebuildBesideCopy$$' ./consumers/tracker
