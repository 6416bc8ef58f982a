# The life of a position: a model of all who write, read and decide, judged by the
# program's own rule (test/positions). In go test ./... it plays a hundred lives.
# What fails is made smaller and printed with the log, and with the seed that
# plays it again: make positions POSITIONS_FLAGS=-rapid.seed=N
#
# Variables:
#   CHECKS   how many lives (20000)
#   STEPS    what happens in one, on average (50)
CHECKS ?= 20000
STEPS ?= 50
POSITIONS_FLAGS ?=

.PHONY: positions
positions: ## play CHECKS lives of positions that are forged, lost, repeated, decided about and restored
	$(GO) test -count=1 -timeout 0 -v ./test/positions -rapid.checks=$(CHECKS) -rapid.steps=$(STEPS) -rapid.nofailfile $(POSITIONS_FLAGS)
