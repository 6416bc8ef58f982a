# Tributary scaled out as native processes: Apache Kafka, Postgres, ClickHouse,
# and one process per role, with any number of members: make cluster DOWNLOAD=3.
#
# Variables:
#   SCHEDULE, POLL, PLAN, DOWNLOAD, UNZIP, VALIDATE, SEQUENCE, INSERT, PUBLISH,
#   TRACKER, HISTORY   members of that role (1)
#   BROKERS            of Apache Kafka: 1 or 3, or 0 for the embedded broker (1)
#   CLUSTER_DIR        where data and logs are kept
CLUSTER_DIR ?= $(or $(TMPDIR),/tmp)/tributary-cluster
CLUSTER_MEMBERS = schedule=$(SCHEDULE),poll=$(POLL),plan=$(PLAN),download=$(DOWNLOAD),unzip=$(UNZIP),validate=$(VALIDATE),sequence=$(SEQUENCE),insert=$(INSERT),publish=$(PUBLISH),tracker=$(TRACKER),history=$(HISTORY)

.PHONY: cluster
cluster: engines servers $(if $(filter 0,$(BROKERS)),,kafka-fetch) ## Tributary scaled out as native processes until Ctrl-C, such as DOWNLOAD=3
	@$(GO) build -o bin/cluster ./test/cluster/run
	@bin/cluster -binary $(BIN) -dir $(CLUSTER_DIR) -brokers $(or $(BROKERS),1) -members $(CLUSTER_MEMBERS)

.PHONY: test-cluster
test-cluster: engines $(if $(filter 0,$(BROKERS)),,kafka-fetch) ## two processes of every role on Apache Kafka make the warehouse that one process makes
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_BINARY=$(abspath $(BIN)) TRIBUTARY_CLUSTER=$(or $(BROKERS),1) $(GO) test -count=1 -timeout 20m -v -run Cluster ./test/cluster
