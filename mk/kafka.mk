# Apache Kafka on loopback, and the tests that need it. It is fetched with
# Maven into the folder of tributary engines fetch, once, each jar checked.

# How many brokers make kafka starts: 1, or 3 for replication.
BROKERS ?= 1

.PHONY: kafka
kafka: kafka-fetch ## Apache Kafka on loopback until Ctrl-C, one broker or BROKERS=3
	$(GO) run ./test/kafka/run -brokers $(BROKERS)

.PHONY: kafka-fetch
kafka-fetch: ## fetch the pinned Apache Kafka with Maven, once, verified
	$(call packages,mvn:maven java:default-jre-headless)
	$(GO) run ./test/kafka/run -fetch

# The tests that need a broker, on Apache Kafka: those of the runtime and of
# every role that reads or writes topics, the whole program, and what is tested
# there alone: the same warehouse as on the embedded broker, with one and eight
# members and both group protocols, and three brokers that are killed while
# files come, and KAFKA_CHAOS runs of make chaos, on three brokers that are
# killed too. KAFKA_FULL=1 runs all of test/e2e, kills included.
# TRIBUTARY_TEST_KAFKA=host:port tells the tests where it is; they empty it, and
# refuse one that test/kafka has not started.
KAFKA_PACKAGES := ./internal/kafka ./topics ./test/kafka ./internal/stage ./internal/stage/sink ./producers/publish
KAFKA_ROLES := ./consumers/tracker ./consumers/history ./consumers/insert
KAFKA_E2E := TestKafka|TestCorporaMatchTheOracle/small|TestTwoOfEveryRole
KAFKA_CHAOS ?= 3
KAFKA_GO := TRIBUTARY_REQUIRE_ENGINES=1 $(GO) test -count=1 -p 1 -timeout 60m

.PHONY: test-kafka
test-kafka: engines servers kafka-fetch ## tests of runtime, roles and whole program on Apache Kafka; KAFKA_FULL=1: all of them
	$(GO) build -o bin/kafka-run ./test/kafka/run
	bin/kafka-run bash -euc '\
	  $(KAFKA_GO) $(if $(KAFKA_FULL),,-short) $(KAFKA_PACKAGES); \
	  $(KAFKA_GO) -run "TwoMembers|RedeliveryAndGap|TopicID" $(KAFKA_ROLES); \
	  $(if $(KAFKA_FULL),,TRIBUTARY_CHAOS=$(KAFKA_CHAOS) $(KAFKA_GO) -v -run "^TestChaos" ./test/e2e;) \
	  $(if $(KAFKA_FULL),TRIBUTARY_CHAOS=$(KAFKA_CHAOS) $(KAFKA_GO) ./test/e2e,$(KAFKA_GO) -short -run "$(KAFKA_E2E)" ./test/e2e)'
