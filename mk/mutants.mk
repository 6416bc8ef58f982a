# Wrong programs, each of which a named test must catch (test/mutants).
# TRIBUTARY_MUTANTS=name,… runs some of them; without it all are run. What was
# caught before on the same code is known and not run again, except with
# MUTANTS_FLAGS=-fresh.
MUTANTS_FLAGS ?=
MUTANTS_BUDGET ?= 2m

.PHONY: mutants
mutants: engines servers ## wrong programs that the tests must catch; the last line counts them
	$(GO) run ./test/mutants $(MUTANTS_FLAGS)

.PHONY: mutants-short
mutants-short: engines servers ## the same for two minutes (MUTANTS_BUDGET); the next run goes on with what is left
	$(GO) run ./test/mutants -budget $(MUTANTS_BUDGET) -from "$$(git rev-parse HEAD 2>/dev/null || date +%F)" $(MUTANTS_FLAGS)
