# Schemas that are lost and made anew: the warehouse from document.ordered and
# the blobs, also while ingest goes on and the rebuild is killed; control from
# the topics, also in the middle of a round or of a replay that is killed; and
# warehouse, tracker and ClickHouse's directory at once, at rest, while files
# come, and with control in the middle of a round. Plain tests have a short form
# of the first two.
#
# Variables: SEED of the corpus (1)
.PHONY: lost
lost: engines ## lose warehouse, tracker, history and control, alone and at once, under load and kill -9, and get them back
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_LOST=1 TRIBUTARY_SEED=$(if $(filter command environment,$(firstword $(origin SEED))),$(SEED),1) \
	  $(GO) test -count=1 -timeout 30m -v -run '^(TestDroppedWarehouseIsRebuilt|TestWarehouseIsRebuiltWhileIngestGoesOn|TestControlIsRestored|TestControlIsRestoredInTheMiddle|TestEverythingIsLost|TestEverythingIsLostWhileIngestGoesOn|TestEverythingIsLostWithControl|TestReplaysAreRestored)$$' ./test/e2e/
