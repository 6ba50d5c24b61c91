# Works with GNU make 3.81 (the one macOS ships), a POSIX shell and BSD tools.

# The linter is built by Go from the version that tools/go.mod pins; the
# product's own go.mod never sees it.
LINT := go tool -modfile=tools/go.mod golangci-lint

# What `make demo` passes on, e.g. make demo ARGS="--payments 500 --seed 7".
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo proof drill test fuzz contract test-newest-postgres test-containers check build images fmt check-format check-vet check-lint check-architecture check-documents check-modules check-platforms

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-20s %s\n", $$1, $$2 }' Makefile

# What starts servers is built and executed, and not "go run": that ends by a signal and
# leaves the program behind, with its servers.
demo: ## the whole pipeline with faults, here and now (options in ARGS)
	@go build -o bin/dev/payctl ./cmd/payctl && exec bin/dev/payctl demo $(ARGS)

# docs/PROOF.md says how to read it. It ends with an error when money moved twice, or
# when a payment says something else than the provider's books.
proof: ## every way in which a provider can fail to tell what it did, and what becomes of the payment
	@report=$$(mktemp) && { \
	  go test -count=1 -timeout 10m ./internal/proof/matrix -report "$$report"; status=$$?; \
	  cat "$$report"; rm -f "$$report"; exit $$status; \
	}

# Some minutes, on a real Kafka where there is a JVM. `make test` runs it scaled down.
# Other lengths and loads: make drill ARGS="-drill-outage 20s -drill-rate 50".
drill: ## a provider that is down for a minute under 200 payments per second, in two ways
	@report=$$(mktemp) && { \
	  go test -count=1 -timeout 30m -v -run TestW3_AnOutageUnderLoad ./internal/worker -drill -drill-outage 60s $(ARGS) >"$$report" 2>&1; status=$$?; \
	  grep -E '^(---|ok|FAIL|panic)|_test.go:|NO REAL KAFKA|Error|breaker changed' "$$report"; rm -f "$$report"; exit $$status; \
	}

# docs/BENCHMARKS.md says what is measured against what. It ends with an error when a
# payment was made twice. Options: make bench ARGS="--only load --rate 300".
.PHONY: bench
bench: ## load and speed on this machine; the figures go to bench/results.json
	@go build -o bin/dev/bench ./bench && exec bin/dev/bench $(ARGS)

# One PostgreSQL and one Kafka serve the whole run; each test has a database and
# topics of its own. `go test ./...` alone works too and starts more servers.
# Whether the race detector works is found out by using it: it needs a C compiler,
# its headers, and a platform that it knows.
test: ## every test, with the race detector, on a real PostgreSQL and Kafka
	@race=-race; \
	if ! why=$$(go test -race -run '^$$' ./internal/leash 2>&1); then \
	  race=; \
	  echo "$$why" >&2; \
	  echo "!!! the tests run WITHOUT the race detector, which does not work here: is there a C compiler?" >&2; \
	  if [ "$${CI:-}" = true ]; then echo "!!! CI=true does not accept that; install gcc" >&2; exit 1; fi; \
	fi; \
	go build -o bin/dev/runtests ./internal/testkit/runtests && exec bin/dev/runtests -- go test $$race -count=1 -timeout 20m ./...

# Schemathesis is installed into the user's cache. Other cases: make contract ARGS="--seed 7".
contract: ## the running server against its own OpenAPI document: 2,000 cases and more, by Schemathesis
	@tools/contract/run $(ARGS)

# `go test` runs the seeds of these; here each one makes inputs of its own for a while.
# What one finds is kept under testdata/fuzz and is a seed from then on.
FUZZ_TIME ?= 30s
FUZZ_TARGETS := ./internal/accept:FuzzBody ./internal/accept:FuzzAmount ./internal/accept:FuzzMetadata ./internal/accept:FuzzCardNumber \
	./internal/idempotency:FuzzIdempotencyKey ./pkg/money:FuzzParse

fuzz: ## made-up bodies, keys, amounts and card numbers against what must hold for all (FUZZ_TIME=30s each)
	@for target in $(FUZZ_TARGETS); do \
	  echo "$${target#*:} in $${target%:*}"; \
	  go test -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZ_TIME) "$${target%:*}" || exit 1; \
	done

# What enforces money's rules in SQL, or stands on how PostgreSQL plans and locks.
NEWEST_TESTS := ./schema ./internal/testkit ./internal/postgres ./internal/idempotency ./internal/operation \
	./internal/evidence ./internal/outcome ./internal/ledger ./internal/outbox ./pkg/inbox

# A server of another version is refused, by the demo and by a test of testkit.
test-newest-postgres: ## the demo and the tests of what is in SQL, on the newest PostgreSQL (downloaded)
	go build -o bin/dev/payctl ./cmd/payctl && exec bin/dev/payctl demo --postgres download --payments 300
	go build -o bin/dev/runtests ./internal/testkit/runtests
	exec env PAYONCE_TEST_POSTGRES=download bin/dev/runtests -- go test -count=1 -timeout 20m $(NEWEST_TESTS)

# The packages whose tests use servers. Without the race detector, because `make test`
# has run them with it.
CONTAINER_TESTS := ./schema ./pkg/inbox ./internal/kafka ./internal/relay ./internal/worker ./internal/proof \
	./internal/app ./internal/testkit ./internal/testkit/containers ./internal/testkit/runtests ./examples/billing

# In CI an engine is set up and taken down where there is none.
test-containers: ## the tests that use servers, on PostgreSQL and Kafka in Docker
	@engine=; \
	if ! docker version >/dev/null 2>&1; then \
	  if [ "$${CI:-}" = true ]; then engine="scripts/engine run"; else \
	    echo "No Docker engine answers. Install Docker, start it, or set DOCKER_HOST." >&2; \
	    echo "On Debian 12 as root there is another way: scripts/engine run make test-containers" >&2; \
	    exit 1; \
	  fi; \
	fi; \
	go build -o bin/dev/runtests ./internal/testkit/runtests && \
	exec env PAYONCE_TEST_POSTGRES=container PAYONCE_TEST_KAFKA=container $$engine \
	  bin/dev/runtests -- go test -count=1 -timeout 20m $(CONTAINER_TESTS)

check: check-format check-vet check-lint check-architecture check-documents check-modules check-platforms ## everything that needs no server: format, lint, arrows, documents, modules, platforms

check-format: ## gofmt and import order
	$(LINT) fmt --diff ./...

check-vet: ## go vet
	go vet ./...

check-lint: ## golangci-lint, see .golangci.yml
	$(LINT) run ./...

check-architecture: ## who may import whom, and who writes which table
	go test -count=1 ./internal/architecture/...

check-documents: ## schema/ says what the code says, in valid OpenAPI and AsyncAPI
	go test -count=1 ./internal/documents ./internal/asyncapi

check-modules: ## go.mod and go.sum name what is used, for both modules
	go mod tidy -diff
	cd tools && go mod tidy -diff

# vet type-checks the test files too, which build leaves out.
check-platforms: ## it builds for macOS and for Linux on ARM
	GOOS=darwin GOARCH=arm64 go build ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=linux GOARCH=arm64 go build ./...

build: ## static binaries of cmd/* in bin/
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

images: ## one small image per process, payonce/NAME:dev (ARGS=from-source: built in Docker)
	@deploy/images $(ARGS)

.PHONY: compose-proof
compose-proof: ## the demo on containers: builds the images, starts a project of its own, kills, judges, removes it
	@deploy/proof --payments 500 --output json $(ARGS)

fmt: ## format and sort imports in place
	$(LINT) fmt ./...
