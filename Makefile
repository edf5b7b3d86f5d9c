# Every target sets up what it needs first: a fresh clone passes `make run` and `make test`.
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup servers run test test-fast check bench generate lock clean

setup:
	@scripts/setup

# The real kube-apiserver that the embedded one is compared with; VERSION is, for example, 1.34.2.
VERSION ?=
ifneq ($(VERSION),)
export MCO_SERVERS_VERSION := $(VERSION)
endif

# Thousands of tests boot machines, kill processes and wait for them: what fails once is asked once more, alone,
# and shown. What fails twice is broken.
ONCE_MORE = { echo "once more, what failed:"; $(BIN)/pytest --last-failed --last-failed-no-failures=none; }

servers: setup
	@scripts/servers

run: setup
	@$(BIN)/mco up --machines 3 --tour

test: check
	@scripts/servers --optional >/dev/null
	@$(BIN)/pytest || $(ONCE_MORE)

test-fast: setup
	@$(BIN)/pytest tests/unit tests/property $(wildcard tests/story)

check: setup
	@$(BIN)/ruff check src tests bench
	@$(BIN)/ruff format --check src tests bench
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup
	@$(BIN)/python -m bench

generate: setup
	@$(BIN)/python -m mco.payload.generate

lock:
	@scripts/lock

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache
