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
KAFKA_E2E := TestKafka|TestCorporaMatchTheOracle/small
KAFKA_LONG := TestTwoOfEveryRole
KAFKA_CHAOS ?= 3
KAFKA_GO := TRIBUTARY_REQUIRE_ENGINES=1 $(GO) test -count=1 -p 1 -parallel 1 -timeout 60m

.PHONY: test-kafka
test-kafka: engines servers clients kafka-fetch ## tests of runtime, roles and whole program on Apache Kafka; KAFKA_FULL=1: all of them
	$(GO) build -o bin/kafka-run ./test/kafka/run
	bin/kafka-run bash -euc '\
	  $(KAFKA_GO) $(if $(KAFKA_FULL),,-short) $(KAFKA_PACKAGES); \
	  $(KAFKA_GO) -run "TwoMembers|RedeliveryAndGap|TopicID" $(KAFKA_ROLES); \
	  $(if $(KAFKA_FULL),,TRIBUTARY_CHAOS=$(KAFKA_CHAOS) $(KAFKA_GO) -v -run "^TestChaos" ./test/e2e;) \
	  $(if $(KAFKA_FULL),TRIBUTARY_CHAOS=$(KAFKA_CHAOS) $(KAFKA_GO) ./test/e2e,$(KAFKA_GO) -short -run "$(KAFKA_E2E)" ./test/e2e; $(KAFKA_GO) -run "$(KAFKA_LONG)" ./test/e2e)'

# Kafka's own tools of several versions, kcat, and clients in Java, Python, C and
# Go: every cell of docs/reference/clients.md. The tools come from Maven Central,
# the Python clients from PyPI, each file pinned and checked. The short form takes
# the newest tools, and the embedded broker's door.
.PHONY: test-clients
test-clients: clients kafka-fetch test-clients-sql ## every cell of docs/reference/clients.md and sql-clients.md, tried with the real tool
	TRIBUTARY_CLIENTS=all $(GO) test -count=1 -timeout 30m -v -run TestClients ./test/clients/kafka

.PHONY: test-clients-short
test-clients-short: clients kafka-fetch ## the same with the newest tools, on the embedded broker's door
	TRIBUTARY_CLIENTS=short $(GO) test -count=1 -timeout 10m -run TestClients ./test/clients/kafka

# What judges the API from outside: a validator of OpenAPI documents, a generator of
# clients in Python, and schemathesis, pinned and checked, under a name that follows from
# what is pinned. EXAMPLES is how many requests schemathesis makes up for each operation.
API_TOOLS := test/clients/api/testdata/requirements.txt
API_TOOLS_DIR = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/api-$(shell sha256sum <$(API_TOOLS) | cut -c1-12)
EXAMPLES ?= 5

.PHONY: api-tools
api-tools:
	$(call packages,pip3:python3-pip)
	@if [ -e $(API_TOOLS_DIR) ]; then exit 0; fi; mkdir -p $(dir $(API_TOOLS_DIR)); part=$$(mktemp -d $(API_TOOLS_DIR).XXXXXX); \
	if PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target $$part/lib -r $(API_TOOLS); then mv $$part/lib $(API_TOOLS_DIR); \
	else echo "the Python packages of $(API_TOOLS) can't be fetched: what needs them is skipped"; fi; rm -rf $$part

.PHONY: test-api
test-api: engines api-tools ## the API's document judged by others: validated, toured by a client made of it, and asked what schemathesis makes up (EXAMPLES)
	TRIBUTARY_API_TOOLS=$(API_TOOLS_DIR) TRIBUTARY_API_EXAMPLES=$(EXAMPLES) $(GO) test -count=1 -timeout 60m -v -run '^TestTheAPIJudgedByOthers$$' ./cmd/tributary

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

# The Compose file, its configuration and the image's steps, without an engine.
.PHONY: compose-check
compose-check: ## check compose/ without an engine: schema, commands, configuration, the image's steps
	cd compose/check && $(GO) vet . && $(GO) test -count=1 .
	$(GO) test -count=1 -run Compose ./cmd/tributary
	bash compose/check.sh

# schemas register against a real registry: Apicurio, from Maven Central, pinned
# and checksummed. It needs Maven and a Java of 21 or newer; without them the
# suite is skipped.
APICURIO_VERSION := 3.3.3
APICURIO_SHA256 := 8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63
APICURIO_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/apicurio-$(APICURIO_VERSION)

.PHONY: test-registry
test-registry: ## schemas register against a real schema registry (Apicurio), fetched once
	@java=""; for j in "$${JAVA_HOME:-}/bin/java" $$(command -v java || true) /usr/lib/jvm/*/bin/java; do \
	  if [ -x "$$j" ] && [ "$$("$$j" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')" -ge 21 ] 2>/dev/null; then java=$$j; break; fi; \
	done; \
	if [ -z "$$java" ]; then echo "no Java of 21 or newer: skipped"; exit 0; fi; \
	if [ ! -e $(APICURIO_DIR)/quarkus-run.jar ]; then \
	  if ! command -v mvn >/dev/null; then echo "no Maven to fetch a registry with: skipped"; exit 0; fi; \
	  mkdir -p $(APICURIO_DIR).part; \
	  (cd $(APICURIO_DIR).part && mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
	    -Dartifact=io.apicurio:apicurio-registry-app:$(APICURIO_VERSION):tar.gz:all -DoutputDirectory=. >mvn.log 2>&1) || \
	    { tail -5 $(APICURIO_DIR).part/mvn.log; echo "the registry can't be fetched: skipped"; exit 0; }; \
	  echo "$(APICURIO_SHA256)  $(APICURIO_DIR).part/apicurio-registry-app-$(APICURIO_VERSION)-all.tar.gz" | sha256sum --check --quiet; \
	  tar -xzf $(APICURIO_DIR).part/*.tar.gz -C $(APICURIO_DIR).part; rm $(APICURIO_DIR).part/*.tar.gz; mv $(APICURIO_DIR).part $(APICURIO_DIR); \
	fi; \
	TRIBUTARY_APICURIO=$(APICURIO_DIR) TRIBUTARY_JAVA=$$java $(GO) test -count=1 -timeout 5m -v -run Apicurio ./schemas/registry

# The page docs/how-to/scale-out.md as it stands: three brokers with TLS, SASL and
# access control lists, Postgres with TLS and passwords, a process per role. It
# takes some minutes. Kafka's own tool that grants rights is fetched once, with
# Maven, and checked.
KAFKA_TOOLS_SHA256 := 62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c
KAFKA_TOOLS_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/kafka-tools-4.3.1
KAFKA_TOOLS := $(KAFKA_TOOLS_DIR)/kafka-tools-4.3.1.jar

.PHONY: test-scale-out
test-scale-out: engines kafka-fetch ## how-to/scale-out.md, line by line, on Apache Kafka and Postgres with TLS, passwords and ACLs
	@if [ ! -e $(KAFKA_TOOLS) ]; then \
	  mkdir -p $(KAFKA_TOOLS_DIR); \
	  mvn -B -q --strict-checksums org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.apache.kafka:kafka-tools:4.3.1 -DoutputDirectory=$(KAFKA_TOOLS_DIR).part; \
	  echo "$(KAFKA_TOOLS_SHA256)  $(KAFKA_TOOLS_DIR).part/kafka-tools-4.3.1.jar" | sha256sum --check --quiet; \
	  mv $(KAFKA_TOOLS_DIR).part/kafka-tools-4.3.1.jar $(KAFKA_TOOLS); rmdir $(KAFKA_TOOLS_DIR).part; \
	fi
	TRIBUTARY_REQUIRE_ENGINES=1 TRIBUTARY_SCALE_OUT=$(abspath $(BIN)) TRIBUTARY_KAFKA_TOOLS=$(KAFKA_TOOLS) $(GO) test -count=1 -timeout 20m -v ./test/scaleout
