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
