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
