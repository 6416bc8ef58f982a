# The Compose file, its configuration and the image's steps, without an engine.
.PHONY: compose-check
compose-check: ## check compose/ without an engine: schema, commands, configuration, the image's steps
	cd compose/check && $(GO) vet . && $(GO) test -count=1 .
	$(GO) test -count=1 -run Compose ./cmd/tributary
	bash compose/check.sh
