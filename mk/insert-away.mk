# Everything but insert over a larger corpus, and then insert.
#   make insert-away AWAY_ZIPS=5000
.PHONY: insert-away
insert-away: engines ## with insert away memory and outboxes stay bounded, and all resumes (AWAY_ZIPS)
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_AWAY_ZIPS=$(or $(AWAY_ZIPS),1000) $(GO) test -count=1 -timeout 60m -v -run TestInsertIsAway ./test/e2e
