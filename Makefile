# The commands of the project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
PYTHON := $(VENV)/bin/python

.PHONY: help demo test lint quality bench docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## cluster the shipped digits and show what comes out
	cargo run --release -- demo

test: $(VENV)/ready ## build everything and run all tests
	cargo test --workspace --no-fail-fast
	$(PYTHON) -m pytest -q tests

lint: ## format and lint, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

quality: ## the score tables of docs/quality.md, from OBCUT_DATA and generated data
	cargo run --release -p obcut-cli --example quality -- all

bench: ## timings: the row problem against the authors' solver, and a whole run on LR
	cargo bench -p obcut
	cargo build --release
	@if [ -f "$${OBCUT_DATA:-}/LR.npz" ]; then \
		time target/release/obcut cluster "$$OBCUT_DATA/LR.npz" -k 26 --truth y > /dev/null; \
	else echo "skipped: OBCUT_DATA does not name a folder with LR.npz"; fi

docs: ## the library's documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps

clean: ## remove what was built
	cargo clean
	rm -rf $(VENV)

# The tests in Python read what the command wrote with the tools its users have.
$(VENV)/ready: tests/requirements.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@
