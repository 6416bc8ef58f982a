# Replays end to end: from every phase, twice at once with kill -9 in between,
# and consumer groups whose offsets somebody reset. In go test ./... a small
# corpus and two kills do; here it is the demo's and TRIBUTARY_KILLS (10).
.PHONY: test-replay
test-replay: engines ## replays through the whole program: every phase, kill -9, offsets reset by hand
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_REPLAY=1 $(GO) test -count=1 -timeout 30m -v -run '^(TestReplay|TestReplayTwiceAtOnce|TestOffsetsResetByHand)$$' ./test/e2e/
