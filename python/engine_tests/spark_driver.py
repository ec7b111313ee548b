"""A Spark program that tests start and kill: loads `rows` rows in `partitions` partitions under a load id.

At the place `die` the driver ends with all its processes, as a machine does that loses power.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
import time

import bulkwire.spark
from pyspark import TaskContext
from pyspark.sql import SparkSession


def session(cores: str = "local[2,4]", **settings: str) -> SparkSession:
    """A small Spark of this process's own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # What is stored must not depend on where a job runs.
    os.environ.setdefault("TZ", "America/St_Johns")
    time.tzset()
    # JVMs that live for seconds need no second compiler.
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    builder = SparkSession.builder.master(cores)
    defaults = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.host": "127.0.0.1",
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


def slowly(batches):
    """Rows that take their time, and longer in some tasks, so that these run twice."""
    context = TaskContext.get()
    is_slow = context.partitionId() % 3 == 0 and context.attemptNumber() == 0
    for batch in batches:
        time.sleep(0.8 if is_slow else 0.2)
        yield batch


class TellingWriter(bulkwire.spark.BulkwireWriter):
    """Notes what is in the stage when the driver commits. Its process dies before or after that, if it is to."""

    def __init__(self, job, notes: str, die: str) -> None:
        super().__init__(job)
        self.notes, self.die = notes, die

    def commit(self, messages) -> None:
        """Commits."""
        if not self.job.is_done:
            with self.job.address.connect() as db:
                attempts = db.fetch(f"SELECT bulkwire_task, COUNT(*) FROM {self.job.stage} GROUP BY bulkwire_task")
            accepted = [message.receipt.task for message in messages]
            line = json.dumps({"attempts": dict(attempts), "accepted": accepted})
            with pathlib.Path(self.notes).open("a") as file:
                file.write(line + "\n")
        if self.die == "before":
            os._exit(9)
        super().commit(messages)
        if self.die == "after":
            os._exit(9)


class TellingSource(bulkwire.spark.BulkwireDataSource):
    """Writes by a writer that notes what it finds."""

    def writer(self, schema, overwrite: bool) -> TellingWriter:
        """Returns that writer."""
        own = {name: self.options.get(name, "") for name in ("notes", "die")}
        self.options = {name: text for name, text in self.options.items() if name.lower() not in own}
        return TellingWriter(super().writer(schema, overwrite).job, **own)


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
                time.sleep(0.3)
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
