# Throughput per number of members, and the runtime's own cost.
# FILES, MEMBERS and RECORDS make a campaign of it:
#   make bench-scale FILES=2400 MEMBERS=1,2,4,8
MEMBERS ?= 1,2,4,8
.PHONY: bench-scale
bench-scale: engines ## 1, 2, 4 and 8 members over a server of 50 ms a request; CPU per record
	$(GO) run ./bench/scale -files $(or $(FILES),400) -members $(MEMBERS) -records $(or $(RECORDS),200000)
