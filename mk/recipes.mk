# What the recipes over the history answer, compared with the oracle of a corpus
# that went through real servers, and with the log as the broker has it.
# RECIPES_CORPORA says which corpora.
RECIPES_CORPORA ?= small demo
.PHONY: test-recipes
test-recipes: engines servers ## every recipe over the history, compared with the oracle of a corpus
	for shape in $(RECIPES_CORPORA); do \
		TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_RECIPES=$$shape $(GO) test -count=1 -timeout 15m -run '^TestRecipesMatchTheOracle$$' ./test/e2e/ || exit 1; \
	done
