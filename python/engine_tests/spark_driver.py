"""A Spark program that tests start and kill: loads `rows` rows in `partitions` partitions under a load id.

At the place `die` the driver ends with all its processes, as a machine does that loses power.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import bulkwire.spark
from pyspark.sql import SparkSession


def session(cores: str = "local[2,4]", **settings: str) -> SparkSession:
    """A small Spark of this process's own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(cores)
    defaults = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "OFF",
    }
    for key, value in {**defaults, **settings}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(bulkwire.spark.BulkwireDataSource)
    return spark


def end() -> None:
    """Kills the driver and what it has started; the daemon of Python's workers ends when it sees that."""
    os.killpg(int(os.environ["DRIVER_GROUP"]), signal.SIGKILL)
    time.sleep(60)


class DyingWriter(bulkwire.spark.BulkwireWriter):
    """Its driver dies when all tasks are done."""

    def commit(self, messages) -> None:
        """Kills the driver."""
        end()


class DyingSource(bulkwire.spark.BulkwireDataSource):
    """Writes by a writer whose driver dies."""

    def writer(self, schema, overwrite: bool) -> DyingWriter:
        """Returns that writer."""
        return DyingWriter(super().writer(schema, overwrite).job)


def main() -> None:
    """Runs the load of the command line."""
    table, rows, partitions, load_id, die, *settings = sys.argv[1:]
    pairs = dict(setting.split("=", 1) for setting in settings)
    # Parted before Spark starts, so that one signal reaches Java and its workers.
    os.setpgid(0, 0)
    os.environ["DRIVER_GROUP"] = str(os.getpgid(0))
    spark = session(pairs.pop("master", "local[2,4]"), **pairs)

    if die == "before the commit":
        spark.dataSource.register(DyingSource)

    def slowly(batches):
        for batch in batches:
            if die == "in a task":
                time.sleep(1)
            yield batch

    frame = spark.range(0, int(rows), numPartitions=int(partitions)).selectExpr("id", "concat('n', id) AS name")
    frame = frame.mapInArrow(slowly, frame.schema)
    write = frame.write.format("bulkwire").option("table", table).option("loadId", load_id).mode("append")
    print("loading", flush=True)
    write.save()
    print("loaded", flush=True)
    if die == "after the commit":
        end()
    spark.stop()


if __name__ == "__main__":
    main()
