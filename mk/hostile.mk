# The program attacked from outside: servers that misbehave at one step of their
# conversation, records that nobody wrote, another account of the machine.
#
# Variables:
#   SEED    the first seed of conversations (1)
#   SEEDS   how many (2000 in a campaign, 100 in make test-hostile)
#   BATCH   hostile sources beside a good one at once (25)
# A seed that fails is named; make hostile-campaign SEED=n SEEDS=1 repeats it.
HOSTILE_SEED := $(if $(filter command environment,$(firstword $(origin SEED))),$(SEED),1)
SEEDS ?= 2000
BATCH ?= 25

# Tests of what was found that lie in other packages (test/hostile/doc.go).
FOUND_IN := ./internal/kafka ./topics ./recovery/restore ./recovery/replay ./producers/poll ./producers/schedule ./consumers/insert ./consumers/tracker \
  ./consumers/sequence ./consumers/download ./consumers/unzip ./consumers/validate ./queries/report ./internal/engine/chdb ./internal/xsdcheck ./queries/plot \
  ./internal/blob ./internal/chain ./test/recipes ./test/e2e
FOUND := Marker|EmptiedBatch|GivesNothing|RebuildKeepsWhat|RebuildBesideWhat|MembersAreSeen|KnowsAVerification|NotKnown|UnknownNames|EnginesWords|TellsItsFirst|FailedPhase|WhatArrived|AreDescribed|ContradictsAnother|AnyForged|RefusesABroken|DamagedBytes|DamagedBlobsHeal|WhateverHappenedToABlob|HostileTexts|CSVCells|OutputsObey|ReadersLimits|TellsNothingOfFiles|NoFileIsATable|IsAnnouncedIsTakenUp|AnotherCentresFile|KeepsFailing|OverrunIs|OneMoment

.PHONY: test-hostile
test-hostile: engines ## what was found from outside, 100 misbehaving conversations, records that nobody wrote, another account
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_HOSTILE=1 $(GO) test -count=1 -timeout 15m -parallel 3 -v ./test/hostile/
	TRIBUTARY_REQUIRE_ENGINES=1 $(GO) test -count=1 -timeout 15m -run '$(FOUND)' $(FOUND_IN)

.PHONY: hostile-campaign
hostile-campaign: engines ## SEEDS misbehaving conversations from SEED on, BATCH of them at once
	@summary=$$(mktemp); status=0; \
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_HOSTILE=1 TRIBUTARY_SEED=$(HOSTILE_SEED) TRIBUTARY_HOSTILE_SEEDS=$(SEEDS) TRIBUTARY_HOSTILE_BATCH=$(BATCH) TRIBUTARY_HOSTILE_HALVES=1 TRIBUTARY_SUMMARY=$$summary \
	  $(GO) test -count=1 -timeout 0 -v -run '^TestConversations$$' ./test/hostile/ || status=$$?; \
	cat "$$summary" 2>/dev/null; rm -f "$$summary"; exit $$status
