# The past: what the live tracker answers is recorded while members are killed
# and restarted, and later the commands with --as-of and diff say the same. Plain
# go test does so in one process, event by event (queries/asof).
#
# Variables: SEED of the corpus (1)
.PHONY: test-asof
test-asof: engines ## what --as-of and diff say equals what was recorded of the live tracker under faults
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_ASOF=1 TRIBUTARY_SEED=$(if $(filter command environment,$(firstword $(origin SEED))),$(SEED),1) \
	  $(GO) test -count=1 -timeout 20m -v -run '^TestThePastIsWhatTheLiveTrackerSaid$$' ./test/e2e/
