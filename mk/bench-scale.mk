# Throughput per number of members, and the runtime's own cost.
# FILES, MEMBERS and RECORDS make a campaign of it:
#   make bench-scale FILES=2400 MEMBERS=1,2,4,8
# A list with commas: the function or would take its parts as its arguments.
SCALE_MEMBERS = $(if $(MEMBERS),$(MEMBERS),1$(scale_comma)2$(scale_comma)4$(scale_comma)8)
scale_comma := ,
.PHONY: bench-scale
bench-scale: engines ## 1, 2, 4 and 8 members over a server of 50 ms a request; CPU per record
	$(GO) run ./bench/scale -files $(or $(FILES),400) -members $(SCALE_MEMBERS) -records $(or $(RECORDS),200000)
