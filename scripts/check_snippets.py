"""Every snippet of the pages is executed by a test, or is listed here with the reason why it is not.

A snippet is a fenced block in a language that a reader may run. Those of pages in EXECUTED are all run, or
those under some headings. The others are in UNEXECUTED by their first lines; a line there that no page has
any more is an error too. Blocks of Python must be Python everywhere.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LANGUAGES = {"sh", "python", "sql", "java", "go", "js", "rust", "toml", "yaml"}
PART = re.compile(
    r"^#{1,4} (?P<heading>[^\n]+)\n|^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)

# A page, what its headings begin with, and the test that runs what stands below them.
EXECUTED = [
    ("README.md", "bulkwire", "clients/test_docs_fragments.py"),
    ("README.md", "Recipes", "clients/test_docs_fragments.py"),
    ("docs/load.md", "", "clients/test_docs_tasks.py"),
    ("docs/export.md", "", "clients/test_docs_tasks.py"),
    ("docs/bcp.md", "", "clients/test_docs_tasks.py"),
    ("docs/events.md", "", "clients/test_docs_tasks.py"),
    ("docs/serve.md", "Watch it", "clients/test_metrics.py"),
    ("docs/serve.md", "", "clients/test_docs_tasks.py"),
    ("docs/copy.md", "", "clients/test_docs_fragments.py"),
    ("docs/transform.md", "", "clients/test_docs_fragments.py"),
    ("docs/python.md", "", "python/tests/test_python_page.py"),
    ("docs/server.md", "From ", "clients/test_docs_snippets.py"),
    ("docs/server.md", "Java, Go", "clients/test_docs_other_languages.py"),
    ("docs/tsql.md", "", "crates/server/tests/in_process/tsql_page.rs"),
    ("docs/package.md", "Schedulers", "clients/check_recipes.py"),
    ("docs/pipelines.md", "dbt", "clients/test_dbt.py"),
    ("docs/package.md", "Packages", "clients/test_copies.py"),
]

# Characters of a first line that are enough to find it.
BEGINNING = 60

MEASURES = "it measures for minutes, and on an idle machine"
UNEXECUTED: dict[tuple[str, str], str] = {
    ("README.md", "import bulkwire"): "its names stand for the reader's; docs/tutorial.py is run",
    (
        "docs/bcp-compatibility.md",
        'ln -s "$(command -v bulkwire)" /usr/local/bin/bcp',
    ): "it writes into /usr/local; the README's bcp commands are run",
    (
        "docs/connections.md",
        'export BULKWIRE_PASSWORD="$CLIENT_SECRET"',
    ): "it asks Microsoft Entra; clients/test_entra.py signs in so at an endpoint of its own",
    (
        "docs/server.md",
        "bulkwire serve --port 1433 --entra-key issuer.pem --entra-is",
    ): "its key stands for the reader's; clients/test_entra.py starts servers with these options",
    ("docs/benchmarks.md", "make bench            # everything below; or, after it has b"): MEASURES,
    ("docs/benchmarks.md", "cargo bench -p bulkwire-formats --bench csv_in -- /tmp/t.csv"): MEASURES,
    ("docs/benchmarks.md", "cargo bench -p bulkwire-store --bench select_into"): MEASURES,
    ("docs/benchmarks.md", "bulkwire bench showdown"): MEASURES,
    ("docs/benchmarks.md", "bulkwire bench throughput"): MEASURES,
    ("docs/benchmarks.md", "bulkwire bench compression"): MEASURES,
    ("docs/benchmarks.md", "bulkwire bench select-into"): MEASURES,
    ("docs/benchmarks.md", "bulkwire bench arrow"): MEASURES,
    ("docs/benchmarks.md", "make release"): MEASURES,
    ("docs/benchmarks.md", "make release && python clients/bench_parallel_reads.py --bin"): MEASURES,
    ("docs/benchmarks.md", "make bench-queries    # clients/bench_queries.py: TPC-H's 22"): MEASURES,
    ("docs/benchmarks.md", "make bench-small      # clients/bench_small_statements.py: s"): MEASURES,
    ("docs/benchmarks.md", "make release && python clients/bench_statement_costs.py --pr"): MEASURES,
    ("docs/benchmarks.md", "make release && python clients/bench_temporary_tables.py --p"): MEASURES,
    ("docs/benchmarks.md", "make release && python clients/bench_transform.py --programs"): MEASURES,
    ("docs/benchmarks.md", "make release && python clients/bench_copy.py --programs targ"): MEASURES,
    ("docs/benchmarks.md", "make release && python clients/bench_undo.py --program targe"): MEASURES,
    ("docs/benchmarks.md", "cargo bench -p bulkwire-store --bench engine"): MEASURES,
    ("docs/clients-benchmark.md", "make bench-clients"): MEASURES,
    (
        "docs/connections.md",
        "kinit ann@EXAMPLE.COM",
    ): "the realm is made up; clients/test_kerberos.py signs in with a KDC of its own",
    (
        "docs/copy-databases.md",
        "bulkwire copy 'postgresql://shop@db/sales#public.orders' mss",
    ): "the hosts are made up; clients/test_copy_databases.py has real PostgreSQL, SQLite, DuckDB and ODBC",
    (
        "docs/package.md",
        "from airflow.providers.standard.operators.bash import BashOp",
    ): "it needs Airflow and Dagster: clients/check_recipes.py runs it by hand",
    (
        "docs/package.md",
        "import subprocess",
    ): "it needs Airflow and Dagster: clients/check_recipes.py runs it by hand",
    (
        "docs/pipelines.md",
        "import bulkwire.dlt",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/pipelines.md",
        "import bulkwire.lakes",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/pipelines.md",
        "from airflow.sdk import dag, task",
    ): "it needs Airflow or Dagster; it has been run by hand",
    ("docs/pipelines.md", "import os"): "it needs Airflow or Dagster; it has been run by hand",
    (
        "docs/server.md",
        "bulkwire serve --port 14330 --data ./rows --user sa        #",
    ): "it never ends; docs/serve.md has starts that are run",
    (
        "docs/server.md",
        "bulkwire serve --port 1433 --keytab server.keytab --trusted-",
    ): "the realm is made up; clients/test_kerberos.py starts such a server",
    (
        "docs/server.md",
        "BULKWIRE_SERVER_PASSWORD='Try-it-0ut' bulkwire serve --port",
    ): "it never ends; the tests of the snippets below start the same server",
    (
        "docs/server.md",
        "BULK INSERT dbo.orders FROM 'orders.csv' WITH (FORMAT = 'CSV",
    ): "its files are the reader's; crates/server/tests/in_process/bulk_files.rs has each form",
    (
        "docs/spark.md",
        "import bulkwire.spark",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/spark.md",
        'frame.write.format("bulkwire").options(table="dbo.orders", l',
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/spark.md",
        "query = (",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/spark.md",
        "def publish(frame, epoch):",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/spark.md",
        "import bulkwire.ray",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/spark.md",
        "import bulkwire.dask",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/wizard.md",
        "bulkwire wizard                 # opens the browser",
    ): "it opens a browser; clients/test_wizard.py drives one",
    (
        "docs/wizard.md",
        "bulkwire copy /data/orders.csv 'mssql://loader:${env:DESTINA",
    ): "an example of what the wizard writes; clients/test_wizard.py runs what it wrote",
    ("docs/install.md", "sha256sum --check --ignore-missing SHA256SUMS"): "its files are those of a release",
    ("docs/install.md", "bulkwire manual ~/.local/share/man/man1"): "it writes into the reader's home",
    (
        "docs/install.md",
        'docker run --rm -v "$PWD:/data" -e BULKWIRE_URL -e BULKWIRE_',
    ): "there is no Docker where the tests run",
    (
        "docs/object-stores.md",
        'db.load("dbo.orders", "s3://lake/orders/2026-03.parquet")',
    ): "its names stand for the reader's; clients and python tests have stores of their own",
    (
        "docs/pipelines.md",
        'orders = bulkwire.lakes.delta("s3://lake/orders", storage_op',
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/pipelines.md",
        "bulkwire.lakes.write_delta(",
    ): "its names stand for the reader's; python/engine_tests do the same with data",
    (
        "docs/pipelines.md",
        "tap-github --config tap.json | target-bulkwire --config targ",
    ): "it asks GitHub; python/engine_tests have taps",
    ("docs/pipelines.md", "plugins:"): "it needs Meltano",
}


def snippets(page: pathlib.Path) -> list[tuple[str, str, str, int]]:
    """Heading, language, text and line of each snippet of a page."""
    text, heading, found = page.read_text(encoding="utf-8"), "", []
    for part in PART.finditer(text):
        if part["heading"]:
            heading = part["heading"]
        elif part["language"] in LANGUAGES:
            found.append((heading, part["language"], part["body"], text.count("\n", 0, part.start()) + 1))
    return found


def offences() -> list[str]:
    wrong, met = [], set()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        for heading, language, body, line in snippets(page):
            if language == "python":
                try:
                    ast.parse(body)
                except SyntaxError as error:
                    wrong.append(f"{name}:{line}: {error}")
            runs = any(name == of and heading.startswith(begin) for of, begin, _ in EXECUTED)
            first = (name, body.split("\n", 1)[0][:BEGINNING].strip())
            met.add(first)
            if runs and first in UNEXECUTED:
                wrong.append(f"{name}:{line}: it is run, and listed as one that is not")
            elif not runs and first not in UNEXECUTED:
                wrong.append(f"{name}:{line}: no test runs it: {first[1]}")
    wrong += [f"{page}: there is no snippet {line!r}" for page, line in UNEXECUTED if (page, line) not in met]
    wrong += [f"there is no {test}" for _, _, test in EXECUTED if not (ROOT / test).is_file()]
    return wrong


def main() -> int:
    wrong = offences()
    print("\n".join(wrong) or "snippets: each is run, or has a reason")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
