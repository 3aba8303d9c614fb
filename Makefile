# The commands of the project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
PYTHON := $(VENV)/bin/python
BENCH_VENV := .venv-bench
BENCH_PYTHON := $(BENCH_VENV)/bin/python
QUALITY_VENV := .venv-quality
QUALITY_DATA := target/quality-data
COMPARE_VENV := .venv-compare
MUTANTS_VENV := .venv-mutants

.PHONY: help demo test test-python installed fingerprints parameters wheel binary package lint quality quality-final compare bench bench-quick bench-python bench-front-ends bench-methods bench-large baselines bench-kernels bench-count results fuzz soak mutants claims deny docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## cluster the shipped digits and show what comes out
	cargo run --release -- demo

test: $(VENV)/ready ## build everything and run all tests
	cargo test --workspace --no-fail-fast
	$(MAKE) --no-print-directory test-python

test-python: installed ## build the wheel, install it and run the tests in Python
	$(PYTHON) -m pytest -q

# The package as it stands, in .venv.
installed: $(VENV)/ready
	rm -rf target/wheels
	$(VENV)/bin/maturin build --quiet --out target/wheels
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl

fingerprints: installed ## record the hashes of results again, after a change that alters results on purpose
	OBCUT_RECORD_FINGERPRINTS=1 $(PYTHON) -m pytest -q crates/obcut-py/tests/test_fingerprints.py

parameters: installed ## write what follows from the tables of parameters: Python signatures, docs/settings.md
	$(PYTHON) tools/parameters.py

wheel: $(VENV)/ready ## a wheel for other machines, optimised and stripped, in target/wheels
	$(VENV)/bin/maturin build --profile dist --out target/wheels

binary: ## the command for other machines, optimised and stripped, in target/dist
	cargo build --profile dist -p obcut-cli

package: ## the archives of the published crates, each built from its archive, in target/package
	cargo package --workspace --exclude obcut-bench --exclude obcut-fuzz --exclude obcut-py

lint: $(VENV)/ready ## format and lint, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p obcut --target-dir target/public-items -- -D warnings
	$(VENV)/bin/ruff check --quiet .
	$(VENV)/bin/ruff format --quiet --check crates/obcut-py examples
	$(VENV)/bin/mypy --no-error-summary crates/obcut-py/python/obcut
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(PYTHON) tools/claims.py
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml

quality: $(QUALITY_DATA)/ready ## the score tables of docs/quality.md on the tuning sets, from OBCUT_DATA and generated data
	cargo run --release -p obcut-bench --example quality -- all

quality-final: $(QUALITY_DATA)/ready ## the same on the final sets: look at them once, when the rules are chosen
	cargo run --release -p obcut-bench --example quality -- final

compare: $(QUALITY_DATA)/ready $(COMPARE_VENV)/ready ## scores beside UMAP, Genie and scikit-learn, written to docs/quality.md (OPTIONS="--only tuning")
	cargo build --release
	cargo build --release -p obcut-bench --example quality
	$(COMPARE_VENV)/bin/python bench/compare.py $(OPTIONS)

# Without their dependencies: see the file.
$(QUALITY_VENV)/ready: bench/requirements-quality.txt
	python3 -m venv $(QUALITY_VENV)
	$(QUALITY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r bench/requirements-quality.txt
	touch $@

$(QUALITY_DATA)/ready: bench/keel.py $(QUALITY_VENV)/ready
	$(QUALITY_VENV)/bin/python bench/keel.py $(QUALITY_DATA)
	touch $@

$(COMPARE_VENV)/ready: bench/requirements-compare.txt
	python3 -m venv $(COMPARE_VENV)
	$(COMPARE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements-compare.txt
	touch $@

bench: bench-build ## timings beside the peers, written to docs/benchmarks.md (about 20 minutes)
	$(BENCH_PYTHON) bench/bench.py

bench-quick: bench-build ## the same on 20,000 rows, printed only (about a minute)
	$(BENCH_PYTHON) bench/bench.py --quick

bench-python: bench-build ## extra memory of a fit in Python at full size, and how soon Ctrl-C returns
	$(BENCH_PYTHON) -m pip install --quiet --disable-pip-version-check .
	$(BENCH_PYTHON) bench/python_fit.py

bench-front-ends: $(VENV)/ready ## seconds of a fit in Python beside the command, on the same rows
	$(VENV)/bin/maturin build --quiet --release --out target/wheels-release
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels-release/*.whl
	$(PYTHON) bench/python_against_command.py

bench-methods: bench-build ## seconds and memory of all methods, written to docs/methods.md (hours)
	$(BENCH_PYTHON) bench/methods.py

bench-large: $(VENV)/ready ## tables larger than memory: seconds, bits and kills, written to docs/scaling.md (half an hour)
	cargo build --release
	$(PYTHON) bench/large.py --write
	$(PYTHON) bench/scaling.py --write

baselines: ## scores of the other methods compared with their references, written to docs/baselines.md
	cargo run --release -p obcut-bench --example baselines

# Every suite goes on where it stopped; JOBS runs at once.
JOBS ?= 2
SUITES := paper order convergence ablation sensitivity
.PHONY: results-page
results: ## the paper's evaluation, written to docs/results.md (many hours, may be interrupted at any time)
	cargo build --release -p obcut-bench
	for suite in $(SUITES); do \
		target/release/obcut-bench $$suite --jobs $(JOBS) --out bench/results/$$suite; \
	done
	$(MAKE) --no-print-directory results-page

results-page: ## docs/results.md, and target/reports/SUITE.html, from the runs in bench/results
	cargo build --release -p obcut-bench
	mkdir -p target/reports
	cp bench/results/notes.md target/reports/results.md
	for suite in $(SUITES); do \
		if [ -e bench/results/$$suite/runs.jsonl ]; then \
			target/release/obcut-bench $$suite --quiet --tables-only --out bench/results/$$suite --report target/reports/$$suite.html > target/reports/$$suite.txt; \
			cat bench/results/$$suite/tables.md >> target/reports/results.md; \
		fi; \
	done
	cp target/reports/results.md docs/results.md

bench-kernels: ## rows per second of the row solvers, GFLOP/s of the matrix products
	cargo bench -p obcut -p obcut-core

bench-count: ## instructions of the kernels under callgrind, against bench/instructions.txt
	bench/instructions.sh

.PHONY: bench-build
bench-build: $(BENCH_VENV)/ready
	cargo build --release
	cargo build --release -p obcut-bench --example lloyd

$(BENCH_VENV)/ready: bench/requirements.txt
	python3 -m venv $(BENCH_VENV)
	$(BENCH_PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

claims: ## the numbers in README.md that no generated table contains
	python3 tools/claims.py

# In debug builds, where an overflow is a panic. SECONDS is for every target; TARGET is one of them.
SECONDS ?= 600
TARGET ?=
SEED ?= 0
fuzz: ## damaged files for everything that reads the bytes of others, SECONDS=600 each (TARGET=npz SEED=1), findings in target/fuzz
	cargo run -p obcut-fuzz -- --seconds $(SECONDS) --seed $(SEED) $(addprefix --target ,$(TARGET))

# SECONDS is for every way to stop a run.
soak: $(VENV)/ready ## runs that are killed, run out of disk or lose their input, and damaged checkpoints, SECONDS=600 each
	cargo build
	OBCUT_DAMAGES=20000 cargo test -p obcut-cli --lib damaged -- --nocapture
	$(PYTHON) tests/soak.py --seconds $(SECONDS) --seed $(SEED)

mutants: $(MUTANTS_VENV)/ready ## small faults in the solver: how many the fast tests notice (OPTIONS="--count 300 --shard 1/4")
	$(MUTANTS_VENV)/bin/python tools/mutants.py $(OPTIONS)

$(MUTANTS_VENV)/ready: tools/requirements-mutants.txt
	python3 -m venv $(MUTANTS_VENV)
	$(MUTANTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r tools/requirements-mutants.txt
	touch $@

deny: ## licences, duplicate versions and sources of the dependencies (cargo install cargo-deny)
	cargo deny check licenses bans sources

docs: ## the library's documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps

clean: ## remove what was built
	cargo clean
	rm -rf $(VENV) $(BENCH_VENV) $(QUALITY_VENV) $(COMPARE_VENV) $(MUTANTS_VENV)

# The tests in Python use the package and read what the command wrote, with the tools its users have.
$(VENV)/ready: tests/requirements.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@
