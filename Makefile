# The commands that matter: `make run`, `make test` and `make test-all`. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# The tests start many processes. Without bytecode files each of them compiles the package, and pytest all test modules,
# again; so they are written even if the environment says otherwise, and nowhere but in the virtual environment.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache

.PHONY: run test test-all test-slow test-spark quick coverage check bench clients docs fuzz torture anomalies oracle kafka-tests record dist clean

run:
	$(PYTHON) -m kafkalet serve $(ARGS)

# One mark for each extra of pyproject.toml, so that a target installs no more than it needs. All come with the conformance
# kit, and two with kafkalet-spark, from their folders.
$(BIN)/.ready-dev $(BIN)/.ready-test-all: SPARK := -e ./spark
$(BIN)/.ready-%: pyproject.toml conformance/pyproject.toml spark/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]' -e ./conformance $(SPARK)
	touch $@

# Each test belongs to `test` or to `test-all` (tests/conftest.py). Spark starts once for each of its two workers.
test: $(BIN)/.ready-test
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not slow" $(ARGS)

test-all: test-slow test-spark

test-slow: $(BIN)/.ready-test-all
	$(BIN)/python -m pytest -n 4 --dist worksteal -m slow tests $(ARGS)

test-spark: $(BIN)/.ready-test-all
	$(BIN)/python -m pytest -n 2 --dist loadfile spark/tests/spark $(ARGS)
	$(BIN)/python -m pytest -n 4 --dist worksteal spark/tests --ignore spark/tests/spark $(ARGS)

quick: $(BIN)/.ready-test
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile=quick -m "not slow" tests/unit tests/rules $(ARGS)

coverage: $(BIN)/.ready-test-all
	$(BIN)/python -m pytest -n 4 --dist worksteal --cov --cov-report=term-missing:skip-covered tests/unit tests/wire tests/recorded spark/tests/unit spark/tests/wire $(ARGS)

check: $(BIN)/.ready-dev
	$(BIN)/ruff check kafkalet conformance spark tests tools benchmarks examples docs
	$(BIN)/ruff format --check kafkalet conformance spark tests tools benchmarks examples docs
	$(BIN)/mypy
	$(BIN)/mypy --config-file spark/pyproject.toml

bench: $(BIN)/.ready-test-all
	$(BIN)/python -m benchmarks $(ARGS)

fuzz: $(BIN)/.ready-test
	$(BIN)/python -m tests.fuzz $(ARGS)

torture: $(BIN)/.ready-test
	$(BIN)/python -m tests.torture $(ARGS)

anomalies: $(BIN)/.ready-test
	$(BIN)/python -m tests.anomalies $(ARGS)

oracle: $(BIN)/.ready-test-all
	$(BIN)/python -m pytest -m oracle $(ARGS)

# Kafka's own integration tests on kafkalet; needs Java 17 and Maven. CLASSES="CLASS CLASS#METHOD ..." selects tests.
kafka-tests: $(BIN)/.ready-test
	$(BIN)/python -m tests.kafka $(CLASSES) $(ARGS)
	$(BIN)/python -m tools.reference

record: $(BIN)/.ready-test-all
	$(BIN)/python -m tests.oracle.record $(RELEASE) $(ARGS); status=$$?; $(BIN)/python -m tools.reference; exit $$status

clients: $(BIN)/.ready-test-all
	$(BIN)/python -m pytest -m toolchain tests/clients -sv $(ARGS)

docs: $(BIN)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)

# The wheels and source distributions of the three packages, kafkalet.pyz and the clients for Java, Go and Node with it, as
# they would be published. Only tools are needed for it, not the packages of the tests.
$(VENV)/dist/.ready:
	$(PYTHON) -m venv $(VENV)/dist
	$(VENV)/dist/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'confluent-kafka>=2.12' 'twine>=6.1'
	touch $@

dist: $(VENV)/dist/.ready
	rm -rf dist
	$(VENV)/dist/bin/python -m build
	$(VENV)/dist/bin/python -m build --outdir dist conformance
	$(VENV)/dist/bin/python -m build --outdir dist spark
	$(VENV)/dist/bin/python -m twine check --strict dist/*
	$(VENV)/dist/bin/python -m tools.single_file dist
	$(VENV)/dist/bin/python -m tools.client_packages dist
	$(VENV)/dist/bin/python -m tests.rules.distributions dist

clean:
	rm -rf $(VENV) build dist conformance/build spark/build .mypy_cache .ruff_cache .pytest_cache .hypothesis
