"""Loads by Spark and Ray: bulkwire, JDBC with and without its bulk copy, and sinks that drop the rows.

    make engines release
    PYTHONPATH=dist/package ENGINES_VENV/bin/python clients/bench_spark.py --binaries target/release
    … clients/bench_spark.py --binaries target/release --throttle

All ways load the same Parquet files, of the 11-column table, into an empty heap of the same embedded
server, in turn. The first round is for the JVM's compiler, and does not count. After each load the
table's count and sums are compared with the files'. Rates are of rows for a second of processor time,
in Spark's or Ray's processes alone: they do not depend on what else the machine does. `--throttle`
compares eight tasks with one, when the server limits each session's rows; with
`--engines none` the tasks are threads, without an engine.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from held_back_server import MEASURED, PASSWORD, serve
from processor_time import ProcessorTime

from race.eleven import BATCH_ROWS, batch, create_table

os.environ["PYSPARK_PYTHON"] = sys.executable
# The sinks below travel to workers by name.
here = str(pathlib.Path(__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))

JDBC = pathlib.Path(
    os.environ.get("BULKWIRE_CLIENT_CACHE", pathlib.Path.home() / ".cache/bulkwire/clients")
).glob("mssql_jdbc/libraries/mssql-jdbc-*.jar")


def spark_session(cores: int, batch_rows: int | None = None):
    """Spark in one process, with the data sources."""
    from null_spark_sink import NullSource
    from pyspark.sql import SparkSession

    import bulkwire.spark

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "3g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraClassPath": str(next(JDBC)),
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "ERROR",
    }
    if batch_rows:
        settings["spark.sql.execution.arrow.maxRecordsPerBatch"] = str(batch_rows)
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for source in (bulkwire.spark.BulkwireDataSource, NullSource):
        spark.dataSource.register(source)
    return spark


#: The way whose statements take so long that it loads a tenth of the rows.
STATEMENTS = "Spark, JDBC (a tenth of the rows)"


def spark_ways(spark, url: str, files: pathlib.Path, few: pathlib.Path) -> dict[str, Callable[[], None]]:
    """Ways to write the files."""
    address = url.split("@")[1].split("/")[0]

    def frame():
        return spark.read.parquet(str(files))

    def jdbc(batch: int, bulk: bool) -> Callable[[], None]:
        def write() -> None:
            settings = {"user": "sa", "password": PASSWORD, "batchsize": str(batch)}
            target = (
                f"jdbc:sqlserver://{address};databaseName=master;encrypt=true;trustServerCertificate=true"
            )
            if bulk:
                target += ";useBulkCopyForBatchInsert=true"
            driver = "com.microsoft.sqlserver.jdbc.SQLServerDriver"
            source = frame() if bulk else spark.read.parquet(str(few))
            source.write.mode("append").jdbc(target, "eleven", properties={**settings, "driver": driver})

        return write

    def bulkwire_() -> None:
        options = {"url": url.replace("sa@", f"sa:{PASSWORD}@"), "table": "eleven"}
        frame().write.format("bulkwire").options(**options).mode("append").save()

    return {
        "Spark, no sink (noop)": lambda: frame().write.format("noop").mode("overwrite").save(),
        # First of those with Python, so that it pays for starting the workers.
        "Spark, bulkwire": bulkwire_,
        "Spark, Python sink that drops Arrow": lambda: (
            frame().write.format("null_arrow").mode("append").save()
        ),
        STATEMENTS: jdbc(1000, False),
        "Spark, JDBC, bulk copy, batchsize 10,000": jdbc(10_000, True),
        "Spark, JDBC, bulk copy, batchsize 100,000": jdbc(100_000, True),
    }


def ray_ways(url: str, files: pathlib.Path) -> dict[str, Callable[[], None]]:
    """Ways to write the files."""
    import ray.data
    from null_ray_sink import NullSink

    import bulkwire.ray

    ray.data.DataContext.get_current().enable_progress_bars = False
    target = url.replace("sa@", f"sa:{PASSWORD}@")

    def write(sink) -> None:
        ray.data.read_parquet(str(files)).write_datasink(sink)

    return {
        "Ray, sink that drops Arrow": lambda: write(NullSink()),
        "Ray, bulkwire": lambda: write(bulkwire.ray.BulkwireDatasink("eleven", target)),
    }


def query(arguments: argparse.Namespace, url: str, sql: str) -> str:
    """The rows of a query."""
    program = arguments.binaries / "bulkwire"
    environment = {**os.environ, "BULKWIRE_URL": url, "BULKWIRE_PASSWORD": PASSWORD}
    ran = subprocess.run(
        [program, "query", sql, "-o", "csv"], env=environment, capture_output=True, text=True, check=True
    )
    return ran.stdout.partition("\n")[2].strip()


class Race:
    """Ways of loading, in turn, and what each took."""

    def __init__(self, arguments: argparse.Namespace, url: str, expected: str, of_few: str) -> None:
        self.arguments, self.url, self.expected, self.of_few = arguments, url, expected, of_few
        self.seen: dict[str, list[tuple[float, float, float]]] = {}

    def run(self, name: str, way: Callable[[], None], counts: bool) -> None:
        """Loads once."""
        query(self.arguments, self.url, f"DROP TABLE IF EXISTS eleven; {create_table('eleven')}")

        def group(line: str) -> str:
            return "server" if "bulkwire serve" in line else "engine"

        own = time.process_time()
        with ProcessorTime(group) as used:
            begin = time.perf_counter()
            way()
            seconds = time.perf_counter() - begin
        # Ray directs its tasks from this process, which also looks at the others.
        directing = time.process_time() - own if name.startswith("Ray") else 0.0
        found = query(self.arguments, self.url, SUMS)
        is_null = "sink" in name
        expected = self.of_few if name == STATEMENTS else self.expected
        if found != ("0,,," if is_null else expected):
            raise SystemExit(f"{name}: {found} instead of {self.expected}")
        engine, server = used.seconds.get("engine", 0.0) + directing, used.seconds.get("server", 0.0)
        if counts:
            rows = self.arguments.rows // (10 if name == STATEMENTS else 1)
            self.seen.setdefault(name, []).append((seconds, engine / rows * 1e6, server / rows * 1e6))
        print(f"  {name}: {seconds:.2f} s, {engine:.2f} s of CPU, server {server:.2f} s", file=sys.stderr)

    def table(self) -> None:
        """Prints a table of Markdown."""
        cost = {name: [engine for _, engine, _ in seen] for name, seen in self.seen.items()}
        least = {name: statistics.median(seen) for name, seen in cost.items()}
        jdbc = min((least[name] for name in least if "JDBC" in name), default=0.0)
        null = {
            "Spark, J": least.get("Spark, no sink (noop)", 0.0),
            "Spark, b": least.get("Spark, Python sink that drops Arrow", 0.0),
        }
        null["Ray, bul"] = least.get("Ray, sink that drops Arrow", 0.0)
        jdbc_alone = jdbc - null["Spark, J"]
        print(
            "| | seconds | engine's CPU, µs a row | without the null sink's | server's CPU, µs a row "
            "| rows for a CPU second beside the best JDBC | without the null sink's |"
        )
        print("|---|---|---|---|---|---|---|")
        for name, seen in self.seen.items():
            seconds = statistics.median(one[0] for one in seen)
            server = statistics.median(one[2] for one in seen)
            spread = f"{min(cost[name]):.2f} to {max(cost[name]):.2f}"
            alone = least[name] - null[name[:8]] if name[:8] in null else None
            shown = f"{alone:.2f}" if alone is not None else ""
            ratio = f"{jdbc / least[name]:.1f}x"
            ratio_alone = f"{jdbc_alone / alone:.1f}x" if alone else ""
            print(
                f"| {name} | {seconds:.1f} | {least[name]:.2f} ({spread}) | {shown} | {server:.2f} "
                f"| {ratio} | {ratio_alone} |"
            )


SUMS = (
    "SELECT COUNT_BIG(*), SUM(CAST(id AS bigint)), SUM(col_decimal), SUM(CAST(LEN(col_str1) AS bigint)) "
    "FROM eleven"
)


def race(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    """Spark's ways in turn, then Ray's."""
    files = folder / "files"
    expected = write_files(files, arguments.rows, 4)
    of_few = write_files(folder / "few", arguments.rows // 10, 4)
    with serve(arguments.binaries, folder, [], "--in-memory") as plain:
        url = plain.replace("Encrypt=Off", "Encrypt=true&TrustServerCertificate=true")
        results = Race(arguments, url, expected, of_few)
        if "spark" in arguments.engines:
            spark = spark_session(2, arguments.batch_rows)
            ways = spark_ways(spark, url, files, folder / "few")
            for round_ in range(arguments.rounds + 1):
                for name, way in ways.items():
                    if re.search(arguments.only, name):
                        results.run(name, way, counts=round_ > 0)
            end(spark)
        if "ray" in arguments.engines:
            import ray

            ray.init(
                num_cpus=2, include_dashboard=False, object_store_memory=500_000_000, log_to_driver=False
            )
            ways = ray_ways(url, files)
            for round_ in range(arguments.rounds + 1):
                for name, way in ways.items():
                    results.run(name, way, counts=round_ > 0)
            ray.shutdown()
        results.table()


def throttle(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    """One task and eight, in turn, when each session may load so many rows a second."""
    files = folder / "files"
    expected = write_files(files, arguments.rows, 8)
    rule = {"fault": "cap", "application": MEASURED, "rows_per_second": arguments.cap}
    with serve(arguments.binaries, folder, [rule], "--in-memory") as url:
        spark = spark_session(8)
        target = url.replace("sa@", f"sa:{PASSWORD}@") + f"&Application%20Name={MEASURED}"
        seen: dict[int, list[float]] = {1: [], 8: []}
        for round_ in range(arguments.rounds + 1):
            for tasks in seen:
                query(arguments, url, f"DROP TABLE IF EXISTS eleven; {create_table('eleven')}")
                frame = spark.read.parquet(str(files))
                frame = frame.coalesce(1) if tasks == 1 else frame
                if round_ == 0:
                    frame = frame.where("id % 20 = 0")
                options = {"url": target, "table": "eleven"}
                begin = time.perf_counter()
                frame.write.format("bulkwire").options(**options).mode("append").save()
                seconds = time.perf_counter() - begin
                if round_:
                    found = query(arguments, url, SUMS)
                    if found != expected:
                        raise SystemExit(f"{tasks} tasks: {found} instead of {expected}")
                    seen[tasks].append(arguments.rows / seconds)
        end(spark)
    print_rates(seen)


def tasks_alone(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    """The same without an engine: tasks are threads that load as Spark's and Ray's do."""
    from bulkwire._job import Address, Job

    files = folder / "files"
    expected = write_files(files, arguments.rows, 8)
    parts = [pq.read_table(file) for file in sorted(files.iterdir())]
    rule = {"fault": "cap", "application": MEASURED, "rows_per_second": arguments.cap}
    with serve(arguments.binaries, folder, [rule], "--in-memory") as url:
        target = url.replace("sa@", f"sa:{PASSWORD}@") + f"&Application%20Name={MEASURED}"
        seen: dict[int, list[float]] = {1: [], 8: []}
        for _ in range(arguments.rounds):
            for tasks in seen:
                query(arguments, url, f"DROP TABLE IF EXISTS eleven; {create_table('eleven')}")
                begin = time.perf_counter()
                job = Job(Address(target), "eleven", parts[0].schema, {"mode": "append"})
                job.prepare()
                with ThreadPoolExecutor(tasks) as pool:
                    shares = [pa.concat_tables(parts)] if tasks == 1 else parts
                    job.publish(list(pool.map(job.load, [share.to_batches() for share in shares])))
                seen[tasks].append(arguments.rows / (time.perf_counter() - begin))
                found = query(arguments, url, SUMS)
                if found != expected:
                    raise SystemExit(f"{tasks} tasks: {found} instead of {expected}")
    print_rates(seen)


def print_rates(seen: dict[int, list[float]]) -> None:
    """Prints the rates of one task and of eight."""
    for tasks, rates in seen.items():
        middle = statistics.median(rates)
        print(f"{tasks} tasks: {middle:,.0f} rows/s ({min(rates):,.0f} to {max(rates):,.0f})")
    ratios = [eight / one for one, eight in zip(seen[1], seen[8], strict=True)]
    print(f"8 tasks: {statistics.median(ratios):.2f}x one ({min(ratios):.2f} to {max(ratios):.2f})")


def write_files(files: pathlib.Path, rows: int, count: int) -> str:
    """Writes the source, and returns its sums."""
    files.mkdir()
    parts = [batch(first, min(BATCH_ROWS, rows - first)) for first in range(0, rows, BATCH_ROWS)]
    whole = pa.Table.from_batches(parts)
    each = -(-rows // count)
    for number in range(count):
        part = whole.slice(number * each, each)
        pq.write_table(part, files / f"{number}.parquet", compression="snappy")
    texts = pc.sum(pc.utf8_length(whole["col_str1"])).as_py()
    return f"{rows},{pc.sum(whole['id']).as_py()},{pc.sum(whole['col_decimal']).as_py()},{texts}"


def end(spark) -> None:
    """Ends Spark with its JVM."""
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait(timeout=60)


def main() -> None:
    """Measures and prints."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="spark,ray")
    parser.add_argument("--only", default="", help="ways of Spark to measure, as a regular expression")
    parser.add_argument("--batch-rows", type=int, help="rows of Spark's Arrow batches; its default is 10,000")
    parser.add_argument("--throttle", action="store_true")
    parser.add_argument("--cap", type=int, default=10_000, help="rows of a session a second with --throttle")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        held_back = throttle if "spark" in arguments.engines else tasks_alone
        (held_back if arguments.throttle else race)(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
