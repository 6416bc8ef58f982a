# Tributary. `make help` lists what there is; plain `make` builds.
.DEFAULT_GOAL := build
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

GO ?= go
BIN := bin/tributary
# Tools have a module of their own, so that they don't decide what the program
# is built with.
TOOL := $(GO) tool -modfile=tools/go.mod
# Packages whose goroutines share something: tested with the race detector, which
# makes tests take two to four times the processor. Tests of theirs that share no memory lie in
# files that begin with //go:build !race, which make test-without-race compiles.
# Those that wait longest begin first, so that they don't wait alone at the end.
RACE := ./internal/stage ./internal/remote/http ./consumers/insert ./producers/poll ./cmd/... ./consumers/... ./producers/... ./internal/blob/... ./internal/deadline/... ./internal/engine/... ./internal/kafka/... ./internal/obs/... ./internal/pg/... ./internal/remote/... ./internal/stage/... ./internal/throttle/... ./internal/watch/... ./recovery/admin ./recovery/deadletter ./recovery/passover ./recovery/replay ./recovery/shadow ./web/live
# For the detector all is compiled and linked once more, so make check has it with LONG alone.
# Where long proofs take turns (test/turns), so do those that nothing stands on.
NOT_NOW := $(if $(filter 0,$(TRIBUTARY_TURN)),./cmd/... ./producers/... ./recovery/%) $(if $(filter 1,$(TRIBUTARY_TURN)),./consumers/...)
RACED := $(filter-out $(NOT_NOW),$(RACE))
NO_RACE_FILES = grep -rl --include='*_test.go' '^//go:build !race$$' $(sort $(RACED:/...=)) | sort -u
# What these packages leave out with -short, as the race detector has them: with LONG it
# goes without that.
SHORT := $(if $(LONG),./internal/engine/chdb ./internal/engine/broker ./internal/stage ./internal/stage/sink)
SHORT_TESTS := $(if $(LONG),|TestTwoOnOneDirectory|TestAMemberThatDiesInItsJoinIsRemoved|TestNoRequestEndsTheBroker|TestProtocols)
# What make check tests without it.
PLAIN = $(filter-out $(if $(LONG),$(shell $(GO) list $(RACED))),$(shell $(GO) list $(FIRST) ./...))
# How many packages are tested at once: they mostly wait for engines and servers.
# The longest begin first.
AT_ONCE ?= $(shell echo $$((3 * $$(nproc))))
FIRST := ./test/e2e ./test/hostile ./test/upgrade ./test/badinput ./test/scale ./test/docs ./web/pages
TEST_TIMEOUT ?= 40m
# What takes the processor for long, and whose question a quicker test asks first, is left
# out unless LONG is set (long, in test/e2e). .ci/run sets it.
SHORTLY := $(if $(LONG),,-short)
# Where tests keep files, and go builds, since what a test asks for by T.TempDir lies
# where GOTMPDIR says. A blob store has 256 directories, which take ext4 ten times as long
# to make as memory does while as many are removed.
test test-race test-plain test-without-race: export TMPDIR := $(shell mk/scratch)
# All is compiled as for the image, whatever compiles it, so that clones share what the
# cache has: without cgo and paths of this machine, and without what only a debugger reads,
# which is a fifth of compiling and a quarter of linking. mk/tool says how the compiler and
# the linker are run.
export GOFLAGS := $(filter-out -toolexec=% -trimpath -gcflags=all=% -ldflags=%,$(shell $(GO) env GOFLAGS)) -trimpath -gcflags=all=-dwarf=false -ldflags=-s -toolexec=$(abspath mk/tool)
export CGO_ENABLED := 0
# The program under test is the one that make engines needs and has built.
test test-race test-plain test-without-race: export TRIBUTARY_BINARY := $(abspath $(BIN))
GOVULNCHECK ?= v1.9.0

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/tributary
	$(GO) build -o $(BIN) ./cmd/tributary

.PHONY: engines
engines: build ## fetch the engines that this machine lacks, once, verified
	$(BIN) engines fetch

# Installs packages where that is possible, and otherwise says what is missing.
# $(1): words program:package.
define packages
	@missing=""; for pair in $(1); do \
	  PATH="$$PATH:/usr/sbin:/usr/local/sbin" command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair##*:}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing:$$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else \
	  echo "not installed:$$missing (install them as root, for example with apt-get install$$missing); what needs them is skipped"; \
	fi
endef

# The S3 server has a module of its own. It is kept under a name that follows from
# what is pinned, where tests look for it.
VERSITYGW := test/servers/versitygw
VERSITYGW_BIN = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/versitygw-$(shell sha256sum <$(VERSITYGW)/go.sum | cut -c1-12)

# Where vsftpd is, Debian installs neither ProFTPD nor Pure-FTPd, nor one beside the
# other: they are unpacked beside it with what they need, where tests look for them.
BESIDE_VSFTPD := proftpd-core,proftpd-mod-crypto pure-ftpd
BESIDE_VSFTPD_DIR = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/ftp-servers

.PHONY: servers
servers: ## install the SFTP, FTP, HTTP and S3 servers that demo and tests run on loopback
	$(call packages,sshd:openssh-server vsftpd:vsftpd nginx:nginx-light apache2:apache2-bin)
	@if [ -e $(BESIDE_VSFTPD_DIR) ] || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then exit 0; fi; \
	echo "unpacking: $(BESIDE_VSFTPD)"; mkdir -p $(dir $(BESIDE_VSFTPD_DIR)); part=$$(mktemp -d $(BESIDE_VSFTPD_DIR).XXXXXX); mkdir -p $$part/debs/partial; \
	if apt-get update -qq && (for set in $(BESIDE_VSFTPD); do \
	    apt-get install -y -qq --download-only --no-install-recommends -o APT::Sandbox::User=root -o Dir::Cache::archives=$$part/debs $${set//,/ } >/dev/null || exit 1; done; \
	  for deb in $$part/debs/*.deb; do dpkg -x $$deb $$part/root || exit 1; done); then mv $$part/root $(BESIDE_VSFTPD_DIR); \
	else echo "ProFTPD and Pure-FTPd can't be fetched: what needs them is skipped"; fi; rm -rf $$part
	@if [ -e $(VERSITYGW_BIN) ]; then exit 0; fi; echo "building versitygw"; mkdir -p $(dir $(VERSITYGW_BIN)); part=$$(mktemp -d $(VERSITYGW_BIN).XXXXXX); \
	if $(GO) -C $(VERSITYGW) build -mod=readonly -o $$part/bin github.com/versity/versitygw/cmd/versitygw; then mv $$part/bin $(VERSITYGW_BIN); \
	else echo "versitygw can't be built: what needs it is skipped"; fi; rm -rf $$part

# What the program in docs/how-to/announce-files.md imports. It is kept under a name
# that follows from what is pinned, where its test looks for it.
ANNOUNCE := test/e2e/testdata/announce.requirements.txt
ANNOUNCE_DIR = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/announce-$(shell sha256sum <$(ANNOUNCE) | cut -c1-12)

.PHONY: clients
clients: ## install the programs of others that tests use topics with and compare verdicts with
	$(call packages,kcat:kcat xmllint:libxml2-utils pip3:python3-pip)
	@if [ -e $(ANNOUNCE_DIR) ]; then exit 0; fi; mkdir -p $(dir $(ANNOUNCE_DIR)); part=$$(mktemp -d $(ANNOUNCE_DIR).XXXXXX); \
	if PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target $$part/lib -r $(ANNOUNCE); then mv $$part/lib $(ANNOUNCE_DIR); \
	else echo "the Python packages of $(ANNOUNCE) can't be fetched: what needs them is skipped"; fi; rm -rf $$part

# The rules of accessibility that pages are held against, likewise.
AXE := test/browser/testdata/axe
AXE_DIR = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tributary/axe-$(shell sha256sum <$(AXE)/package-lock.json | cut -c1-12)

.PHONY: browser
browser: ## install Chromium, in which tests open the pages, and axe-core
	$(call packages,chromium:chromium npm:npm)
	@if [ -e $(AXE_DIR) ]; then exit 0; fi; mkdir -p $(dir $(AXE_DIR)); part=$$(mktemp -d $(AXE_DIR).XXXXXX); \
	if cp $(AXE)/package*.json $$part && npm ci --silent --ignore-scripts --no-audit --no-fund --prefix $$part; then mv $$part $(AXE_DIR); \
	else echo "axe-core can't be fetched: what needs it is skipped"; rm -rf $$part; fi

.PHONY: demo
demo: engines servers ## watch a generated corpus go from real servers to the warehouse; LIVE=1: centres go on delivering
	$(GO) run ./test/demo -binary $(BIN) $(if $(LIVE),-live 10m)

# Without vet, which make check has.
.PHONY: test
test: servers clients ## run the tests, with LONG=1 all of them; what lacks an engine or a server is skipped
	@$(MAKE) --no-print-directory engines || echo "the engines could not be fetched: tests that need them are skipped"
	$(GO) test -vet=off $(SHORTLY) -p $(AT_ONCE) -timeout $(TEST_TIMEOUT) $(FIRST) ./...

# Every test once, with LONG=1 those that take long, and with the race detector what RACED
# names; without vet, which lint does. The parts go on at once, lint too, so that nothing
# waits for the longest of one of them alone; what they need is installed before, and what
# both lint and test-plain would compile at the same time is compiled.
.PHONY: check
check: fmt vet-others engines servers clients ## everything that must hold before a commit
	$(GO) list -export -test ./... >/dev/null
	@$(MAKE) --no-print-directory -j4 $(if $(LONG),AT_ONCE=$$(nproc) test-race test-without-race) lint test-plain

.PHONY: test-plain
test-plain: engines servers clients ## the tests of make check; with LONG=1 what make test-race and make test-without-race leave
	$(GO) test -vet=off $(SHORTLY) -p $$(($(AT_ONCE) + 1)) -timeout $(TEST_TIMEOUT) $(PLAIN)

.PHONY: test-without-race
test-without-race: engines servers clients ## what packages that make test-race tests have without the race detector
	@files="$$($(NO_RACE_FILES))"; tests="$$(grep -hoE '^func Test[A-Za-z0-9_]+' $$files | cut -c6- | paste -sd '|')"; \
	$(GO) test -vet=off -p 1 -timeout $(TEST_TIMEOUT) -run "^($$tests$(SHORT_TESTS))\$$" $$(dirname $$files | sort -u) $(SHORT)

.PHONY: fmt
fmt: ## fail where gofmt would change something
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: vet-others ## go vet
	$(GO) vet ./...

# What lint, which vets all packages too, does not see: files of other tags and of another
# module. What is built for WebAssembly, from the standard library up, waits for LONG.
.PHONY: vet-others
vet-others:
	$(GO) vet -tags synctests ./test/sim
	$(GO) vet -tags crashpoints ./internal/crashpoint
	cd test/sim/wasm && $(GO) vet ./...
	$(if $(LONG),GOOS=wasip1 GOARCH=wasm $(GO) vet -tags synctests ./test/sim)

.PHONY: lint
lint: ## golangci-lint, as .golangci.yml says
	GOGC=400 GOMEMLIMIT=4GiB $(TOOL) golangci-lint run

.PHONY: deadcode
deadcode: ## fail where only tests reach a function of the program
	@all=$$($(TOOL) deadcode ./cmd/... ./bench/... ./test/...) || exit 1; \
	found=$$(echo "$$all" | grep -vE '^(test|bench)/|^[a-z/]+test/' || true); \
	if [ -n "$$found" ]; then echo "only tests reach:"; echo "$$found"; exit 1; fi

.PHONY: test-race
test-race: engines servers clients ## packages that share memory between goroutines, with the race detector
	@race="-race"; cgo=1; if ! command -v "$$($(GO) env CC)" >/dev/null; then echo "no C compiler, which the race detector needs: tested without it"; race=""; cgo=0; fi; \
	CGO_ENABLED=$$cgo $(GO) test $$race -vet=off -short -p $$(($(AT_ONCE) + 1)) -timeout $(TEST_TIMEOUT) $(RACED)

# Runs every fuzz test of the module, one after another; those of a package with one
# binary, which takes as long to link as thousands of runs. $(1): how long each, little of
# which goes into making inputs smaller. After FUZZ_BUDGET seconds, where that is given, no
# package is begun; which come first are others with each commit.
FUZZ_BUDGET ?=
define fuzz
	@bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; known=$$($(GO) env GOCACHE)/fuzz/tributary; built=; \
	commit=$$(git rev-parse HEAD 2>/dev/null || date +%F); \
	grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/^\(.*\)\/[^/]*:func /\1 /' | while read -r dir name; do \
	  echo "$$(echo "$$commit $$dir" | sha256sum | cut -c1-16) $$dir $$name"; done | sort | while read -r _ dir name; do \
	  if [ "$$dir" != "$$built" ]; then \
	    if [ $$SECONDS -ge $(or $(FUZZ_BUDGET),$$((SECONDS + 1))) ]; then echo "FUZZ_BUDGET is over: this and what comes after it are left for other commits: $$dir"; break; fi; \
	    $(GO) test -c -fuzz . -o "$$bin/fuzz.test" "$$dir"; built=$$dir; fi; \
	  echo "$$dir $$name"; \
	  (cd "$$dir" && "$$bin/fuzz.test" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(1) -test.fuzzminimizetime 20x -test.fuzzcachedir "$$known/$$dir"); \
	done
endef

.PHONY: fuzz
fuzz: ## every fuzz test for a minute (FUZZ_TIME); what it finds stays in testdata/fuzz
	$(call fuzz,$(or $(FUZZ_TIME),1m))

.PHONY: fuzz-short
fuzz-short: ## every fuzz test for ten seconds, or FUZZ_TIME where that is given
	$(call fuzz,$(or $(FUZZ_TIME),10s))

.PHONY: govulncheck
govulncheck: ## known vulnerabilities in what is called; needs a network
	@GOBIN=$(CURDIR)/bin $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) >/dev/null 2>&1 || { echo "govulncheck can't be fetched: skipped"; exit 0; }; \
	status=0; bin/govulncheck ./... || status=$$?; \
	if [ $$status = 3 ]; then exit 3; fi; \
	if [ $$status != 0 ]; then echo "the database of vulnerabilities can't be reached: skipped"; fi

.PHONY: generate
generate: ## write the generated parts of docs/reference anew
	$(GO) test ./topics ./internal/config ./internal/remote/connectors ./schemas/exception ./queries/why ./queries/doctor ./cmd/tributary ./web/api ./test/clients/kafka ./test/clients/sql -run 'Reference' -update

.PHONY: clean
clean: ## remove what was built
	rm -rf bin

# What is larger: suites that prove, benchmarks, other people's engines, scale.
include mk/proof.mk mk/bench.mk mk/kafka.mk mk/scale.mk
