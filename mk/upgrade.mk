.PHONY: test-upgrade
test-upgrade: engines ## what the program before left on the disk is opened, and members of both run side by side
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_UPGRADE=1 $(GO) test -count=1 -timeout 20m -v ./test/upgrade/
