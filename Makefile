# Every target sets up what it needs first: a fresh clone passes `make run` and `make test`.
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup servers run test test-machines test-servers test-rest test-fast check bench generate lock clean

setup:
	@scripts/setup

# The real kube-apiserver that the embedded one is compared with; VERSION is, for example, 1.34.2.
VERSION ?=
ifneq ($(VERSION),)
export MCO_SERVERS_VERSION := $(VERSION)
endif

# Most tests wait, for machines, for servers or for a clock: three runs side by side keep two cores busy. What
# waits for the same is in one run, so that no two start machines or a real server of their own.
MACHINES := $(wildcard tests/lab tests/fleet tests/recovery tests/kubernetes tests/contract/host)
SERVERS := $(wildcard tests/contract/apiserver tests/contract/crds tests/handover tests/kube tests/payload)
RUNS := test-machines test-servers test-rest
test-machines: TESTS := $(MACHINES)
test-servers: TESTS := $(SERVERS)
test-rest: TESTS := tests $(addprefix --ignore=,$(MACHINES) $(SERVERS))

# Thousands of tests boot machines, kill processes and wait for them: what fails once is asked once more, alone,
# and shown. What fails twice is broken, and so is a run that ended without a word on what failed.
CACHE = build/tests/$@
PYTEST = $(BIN)/pytest -o cache_dir=$(CACHE) $(TESTS)
ALL = rm -rf $(CACHE) && $(PYTEST) && touch $(CACHE)/passed
FAILED = [ -f $(CACHE)/passed ] || $(PYTEST) --last-failed --last-failed-no-failures=none
ASK := ALL

servers: setup
	@scripts/servers

run: setup
	@$(BIN)/mco up --machines 3 --tour

test: check
	@scripts/servers --optional >/dev/null
	@$(MAKE) --no-print-directory --keep-going --jobs=3 --output-sync=target $(RUNS) || \
		{ echo "once more, what failed:"; $(MAKE) --no-print-directory --keep-going ASK=FAILED $(RUNS); }

$(RUNS):
	@echo "$@"; $($(ASK))

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
