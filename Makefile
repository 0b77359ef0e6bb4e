# The words of this project. Each is a thin name for a command that can be read here.
export CGO_ENABLED = 0
GO ?= go
TOOL = $(GO) tool -modfile=tools/go.mod

.PHONY: build test lint golden fuzz crash demo cross bench

build: ## bin/tunebench
	$(GO) build -trimpath -o bin/tunebench ./cmd/tunebench

test: ## every test; those that need something say what
	$(GO) test ./...

lint: ## the linters, as CI runs them
	$(TOOL) golangci-lint run ./...
	$(TOOL) staticcheck ./...

golden: ## write the golden files anew; read the diff before committing it
	$(GO) test ./internal/report ./internal/matrix -update
	UPDATE_SCRIPTS=1 $(GO) test ./internal/cli -run TestStories

fuzz: ## every fuzz target, 200,000 executions each
	scripts/fuzz.sh 200000x

crash: ## 200 kills of a small matrix
	TUNEBENCH_CRASH_KILLS=200 $(GO) test ./internal/cli -run TestCrash -count=1 -v -timeout 60m

bench: ## benchmarks that print ratios from one run
	$(GO) test ./... -run XXX -bench .

demo: ## the main job on the embedded default
	$(GO) run ./cmd/tunebench demo

cross: ## the other systems it must build for
	GOOS=linux GOARCH=arm64 $(GO) build -o /dev/null ./cmd/tunebench
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/tunebench
