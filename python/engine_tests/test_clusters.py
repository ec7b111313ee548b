"""Processes of engines that are killed at random: no row is lost and none is there twice. `make clusters` runs them.

CLUSTER_FAULTS is how many processes are killed in all.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import bulkwire.ray
import bulkwire.spark
import pyarrow as pa
import pytest
import ray
import ray.data
from spark_driver import session

pytestmark = pytest.mark.clusters

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "200"))
ROWS = 20_000
SUM = ROWS * (ROWS - 1) // 2


def descendants(root: int) -> dict[int, str]:
    """The processes that a process has started, and their command lines."""
    parents, lines = {}, {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            lines[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    found: dict[int, str] = {}
    generation = {root}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found.update({pid: lines[pid] for pid in generation})
    return found


class Killer:
    """Kills processes of this one's own whose command line has a text, or those that they have started, now and then."""

    def __init__(self, text: str, pauses: tuple[float, float], most: int) -> None:
        self.text, self.pauses, self.most = text, pauses, most
        self.killed = 0
        self.random = random.Random(7)
        self.stopped = threading.Event()

    def __enter__(self) -> Killer:
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopped.set()
        self.thread.join()

    def run(self) -> None:
        while self.killed < self.most and not self.stopped.wait(self.random.uniform(*self.pauses)):
            roots = [pid for pid, line in descendants(os.getpid()).items() if self.text in line]
            victims = [pid for root in roots for pid in (root, *descendants(root))]
            if victims:
                with contextlib.suppress(OSError):
                    os.kill(self.random.choice(victims), signal.SIGKILL)
                    self.killed += 1


def slowly(batches):
    """Rows that take their time, and longer in some tasks, so that these run twice."""
    from pyspark import TaskContext

    context = TaskContext.get()
    is_slow = context.partitionId() % 5 == 0 and context.attemptNumber() == 0
    for batch in batches:
        time.sleep(0.5 if is_slow else 0.1)
        yield batch


def make(place) -> None:
    place.db.execute("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, name nvarchar(20))")


def test_executors_and_their_workers(place):
    make(place)
    settings = {
        "spark.executor.memory": "600m",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.multiplier": "1.2",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "500ms",
        "spark.task.maxFailures": "1000",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    }
    spark = session("local-cluster[2,1,600]", **settings)
    java = spark.sparkContext._gateway.proc
    try:
        killed, jobs = 0, 0
        while killed < FAULTS * 6 // 10:
            mode = ("append", "overwrite")[jobs % 2]
            if mode == "append":
                place.db.execute("TRUNCATE TABLE t")
            frame = spark.range(0, ROWS, numPartitions=10).selectExpr("id", "concat('n', id) AS name")
            with Killer("CoarseGrainedExecutorBackend", (2.0, 8.0), FAULTS * 6 // 10 - killed) as killer:
                write = frame.mapInArrow(slowly, frame.schema).write.format("bulkwire").option("url", place.url)
                write.option("table", "t").mode(mode).save()
            killed, jobs = killed + killer.killed, jobs + 1
            assert (place.count_and_sum("t"), place.stages()) == ((ROWS, ROWS, SUM), []), jobs
        print(f"Spark: {killed} processes killed in {jobs} jobs")
    finally:
        spark.stop()
        java.stdin.close()
        java.wait(timeout=60)


def test_drivers(place):
    make(place)
    driver = pathlib.Path(__file__).with_name("spark_driver.py")
    environment = {**os.environ, "BULKWIRE_URL": place.url}
    chance = random.Random(7)
    killed, loads = 0, 0
    while killed < max(1, FAULTS // 10):
        place.db.execute("TRUNCATE TABLE t")
        done = False
        while not done:
            die = chance.choice(["in a task", "before the commit", "after the commit", ""])
            command = [
                sys.executable,
                driver,
                "t",
                str(ROWS),
                "4",
                f"load-{loads}",
                die,
                "spark.sql.execution.arrow.maxRecordsPerBatch=500",
            ]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert process.stdout.readline().startswith("loading")
            if die == "in a task":
                time.sleep(chance.uniform(0, 8))
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=300)
            done = process.returncode == 0
            killed += not done
        loads += 1
        assert (place.count_and_sum("t"), place.stages()) == ((ROWS, ROWS, SUM), []), loads
    print(f"Spark: {killed} drivers killed in {loads} loads")


def test_workers_of_ray(place):
    make(place)
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=150_000_000, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def named(batch: pa.Table) -> pa.Table:
        time.sleep(0.1)
        return batch.append_column("name", pa.array([f"n{number}" for number in batch["id"].to_pylist()]))

    try:
        killed, jobs = 0, 0
        while killed < FAULTS * 3 // 10:
            mode = ("append", "replace")[jobs % 2]
            if mode == "append":
                place.db.execute("TRUNCATE TABLE t")
            dataset = ray.data.range(ROWS, override_num_blocks=10)
            dataset = dataset.map_batches(named, batch_format="pyarrow", batch_size=500, max_retries=-1)
            with Killer("ray::", (0.5, 2.0), FAULTS * 3 // 10 - killed) as killer:
                sink = bulkwire.ray.BulkwireDatasink("t", place.url, mode=mode)
                dataset.write_datasink(sink, ray_remote_args={"max_retries": -1})
            killed, jobs = killed + killer.killed, jobs + 1
            assert (place.count_and_sum("t"), place.stages()) == ((ROWS, ROWS, SUM), []), jobs
        print(f"Ray: {killed} processes killed in {jobs} jobs")
    finally:
        ray.shutdown()
