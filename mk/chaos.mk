# Separate processes on real engines under faults, and crashes at labelled steps.
# In one run of five under faults, files are replayed too. After each run, here
# and in make test-kafka, the commands tracker verify, history verify and
# warehouse verify must find everything equal.
#
# Variables:
#   SEED     of the corpus and of all that is random (1)
#   RUNS     how many runs of 15 s of faults make chaos takes (30; 12 in CI)
#   KIND     of fault: kill, pause, roll, broker, postgres, clickhouse, disk,
#            servers, or all, mixed
#   FAULTS   how long a run's faults last (15s; 300s in a campaign)
#   CRASHES  how many crash points the short form takes
#   STATE    where campaigns remember what was done, to go on from there
#   BUDGET   the time that a campaign takes at most, such as 2h
CHAOS_SEED := $(if $(filter command environment,$(firstword $(origin SEED))),$(SEED),1)
STATE ?= chaos-state

# A suite whose last line is the summary that the tests write.
# $(1): environment; $(2): tests; $(3): time-out
define chaos_suite
	@summary=$$(mktemp); status=0; \
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SEED=$(CHAOS_SEED) TRIBUTARY_SUMMARY=$$summary $(1) \
	  $(GO) test -count=1 -timeout $(3) -v -run '$(2)' ./test/e2e/ || status=$$?; \
	cat "$$summary" 2>/dev/null; rm -f "$$summary"; exit $$status
endef

# Other suites have RUNS and SEED of their own: only what somebody gives counts.
CHAOS_RUNS := $(if $(filter command environment,$(firstword $(origin RUNS))),$(RUNS),30)
KIND ?= all
FAULTS ?= 15s
CRASHES ?= 16

# Runs of which seed n is the n-th; a run that fails names its seed.
.PHONY: chaos
chaos: engines ## separate processes under kill -9, SIGSTOP, upgrades, lost engines: RUNS runs of 15 s
	$(call chaos_suite,TRIBUTARY_CHAOS=$(CHAOS_RUNS) TRIBUTARY_CHAOS_KIND=$(KIND) TRIBUTARY_CHAOS_FAULTS=$(FAULTS),^TestChaos$$,0)

.PHONY: chaos-campaign
chaos-campaign: engines ## 30 runs of 300 s of one KIND of fault, within BUDGET; goes on where it stopped
	@mkdir -p $(STATE)
	$(call chaos_suite,TRIBUTARY_CHAOS=30 TRIBUTARY_CHAOS_KIND=$(KIND) TRIBUTARY_CHAOS_FAULTS=300s TRIBUTARY_CAMPAIGN=$(abspath $(STATE))/chaos-$(KIND)-$(CHAOS_SEED).jsonl TRIBUTARY_BUDGET=$(or $(BUDGET),2h),^TestChaos$$,0)

.PHONY: paused
paused: engines ## an insert process stopped at each of its steps wakes up after another took over
	$(call chaos_suite,TRIBUTARY_CHAOS=1,^TestPausedInsert,30m)

.PHONY: crashpoints
crashpoints: engines ## kill the program at CRASHES of its labelled steps and compare what becomes of it
	$(call chaos_suite,TRIBUTARY_CRASHES=$(CRASHES),^TestCrashPoints$$,30m)

.PHONY: crashpoints-campaign
crashpoints-campaign: engines ## kill the program at every occurrence of every labelled step, within BUDGET
	@mkdir -p $(STATE)
	$(call chaos_suite,TRIBUTARY_CRASHES=all TRIBUTARY_CAMPAIGN=$(abspath $(STATE))/crashpoints-$(CHAOS_SEED).jsonl TRIBUTARY_BUDGET=$(or $(BUDGET),2h),^TestCrashPoints$$,0)
