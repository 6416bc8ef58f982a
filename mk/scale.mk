# Control and the outboxes on as much as they are made for. Plain go test runs the
# same tests on a fiftieth of it and less. HOSTINGS that control knows (a tenth of
# it is the number of files), LISTED entries in the listing that is compared with
# them, ENTRIES in a listing that is kept, EVENTS that go through an outbox, DOCUMENTS in warehouse and tracker.
HOSTINGS ?= 10000000
LISTED ?= 100000
ENTRIES ?= 1000000
DOCUMENTS ?= 1000000

# What each statement takes for a file where control knows FLAT files; it writes the page.
FLAT ?= 8000,100000,1000000

.PHONY: control-flat
control-flat: engines ## what each statement of control takes for a file among FLAT files, as a table in docs/explanation
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_FLAT=$(FLAT) TRIBUTARY_SCALE_PAGE=$(CURDIR)/docs/explanation/control-statements.md \
	  $(GO) test -count=1 -timeout 120m -v -run TestControlIsFlat ./test/scale

.PHONY: control-scale
control-scale: control-flat ## what every statement of control looks at where it knows 10,000,000 hostings
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_HOSTINGS=$(HOSTINGS) TRIBUTARY_SCALE_LISTED=$(LISTED) TRIBUTARY_SCALE_BACKLOG=100000 \
	  $(GO) test -count=1 -timeout 120m -v -run 'TestControlDecidesByIndex|TestABacklogDelaysNobody' ./test/scale
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_BACKLOG=100000 TRIBUTARY_PATIENCE=30m $(GO) test -count=1 -timeout 120m -v -run TestABacklogKeepsNothingFromTheWarehouse ./test/e2e
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_ENTRIES=$(ENTRIES) $(GO) test -count=1 -timeout 60m -v -run 'TestVeryMany' ./producers/poll

.PHONY: outbox-scale
outbox-scale: engines ## a million events through an outbox: their order, its size, what it asks when idle
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_EVENTS=$(or $(EVENTS),1000000) \
	  $(GO) test -count=1 -timeout 60m -v -run 'TestOutbox' ./test/scale

.PHONY: projections-scale
projections-scale: engines ## what every statement of insert and tracker looks at among a million documents
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_DOCUMENTS=$(DOCUMENTS) \
	  $(GO) test -p 1 -count=1 -timeout 120m -v -run 'DecidesByIndex|WritesByIndex' ./consumers/insert ./consumers/tracker

# FILES that the tracker knows, and EVENTS in the history, ten for each file unless they
# are given. With KEEP=DIR the engines keep them there, for another run.
.PHONY: pages-scale
pages-scale: engines ## what every page takes among a million files and ten million events, beside its slowest statement
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_TEST_DIR=$(abspath $(KEEP)) TRIBUTARY_PAGES_FILES=$(or $(FILES),1000000) TRIBUTARY_SCALE_FINDINGS=$(or $(FILES),1000000) $(if $(EVENTS),TRIBUTARY_PAGES_EVENTS=$(EVENTS)) \
	  $(GO) test -count=1 -timeout 240m -v -run 'TestPagesBesideTheirStatements|TestFindingsByIndex' ./test/scale

# The servers' files lie in TMPDIR: a directory of ENTRIES empty ones.
.PHONY: listing-scale
listing-scale: servers ## a million entries listed within 200 MB, of real SFTP and FTP servers, and of each other kind
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_ENTRIES=$(ENTRIES) $(GO) test -count=1 -timeout 120m -v -run TestListsAnyNumber -p 1 ./internal/remote/...
