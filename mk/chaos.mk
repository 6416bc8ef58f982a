# Separate processes on real engines under faults, and crashes at labelled steps.
#
# Variables:
#   SEED     of the corpus and of all that is random (1)
#   CRASHES  how many crash points the short form takes
#   STATE    where campaigns remember what was done, to go on from there
#   BUDGET   the time that a campaign takes at most, such as 2h
SEED ?= 1
STATE ?= chaos-state

# A suite whose last line is the summary that the tests write.
# $(1): environment; $(2): tests; $(3): time-out
define chaos_suite
	@summary=$$(mktemp); status=0; \
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SEED=$(SEED) TRIBUTARY_SUMMARY=$$summary $(1) \
	  $(GO) test -count=1 -timeout $(3) -v -run '$(2)' ./test/e2e/ || status=$$?; \
	cat "$$summary"; rm -f "$$summary"; exit $$status
endef

CRASHES ?= 16

.PHONY: crashpoints
crashpoints: engines ## kill the program at CRASHES of its labelled steps and compare what becomes of it
	$(call chaos_suite,TRIBUTARY_CRASHES=$(CRASHES),^TestCrashPoints$$,30m)

.PHONY: crashpoints-campaign
crashpoints-campaign: engines ## kill the program at every occurrence of every labelled step, within BUDGET
	@mkdir -p $(STATE)
	$(call chaos_suite,TRIBUTARY_CRASHES=all TRIBUTARY_CAMPAIGN=$(abspath $(STATE))/crashpoints-$(SEED).jsonl TRIBUTARY_BUDGET=$(or $(BUDGET),2h),^TestCrashPoints$$,0)
