# Replays end to end: from every phase, twice at once with kill -9 in between,
# consumer groups whose offsets somebody reset, shadows, and what is stale. go test ./... runs the first
# on the small corpus, from unzip alone. A campaign: make test-replay REPLAY=demo KILLS=20.
REPLAY ?= small
KILLS ?= 2

.PHONY: test-replay
test-replay: engines ## replays through the whole program: every phase, kill -9, offsets reset by hand, shadows, what is stale
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_REPLAY=$(REPLAY) TRIBUTARY_KILLS=$(KILLS) $(GO) test -count=1 -timeout 30m -v \
	  -run '^(TestReplay|TestReplayTwiceAtOnce|TestReplayOfAnOlderVersion|TestOffsetsResetByHand|TestOffsetsResetByHandUnderAnotherProfile|TestShadow|TestShadowOfAMapping|TestStale)$$' ./test/e2e/
