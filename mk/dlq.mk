# Dead letters end to end: poison is set aside with its cause, the rest goes on,
# and a replay completes it once. In go test ./... a small corpus does; here it
# is the demo's, and insert's letters too, which wait for a pause of 30 s.
.PHONY: test-dlq
test-dlq: engines ## dead letters through the whole program: set aside, listed, replayed once, dropped
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_DLQ=1 $(GO) test -count=1 -timeout 20m -v -run '^(TestDeadLetters|TestWhatInsertGivesUpIsReplayed)$$' ./test/e2e/
