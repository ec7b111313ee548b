"""Processes of engines that are killed at random: no row is lost and none is there twice. `make clusters` runs them.

CLUSTER_FAULTS is how many processes are killed in all, CLUSTER_MINUTES the time within which that has to be done, and
CLUSTER_SEED says which processes are killed, and when.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

import bulkwire.ray
import pytest
import ray
import ray.data
from killer import Kill, Killer
from processes import descendants
from ray.cluster_utils import Cluster
from ray_functions import Named, named
from spark_driver import TellingSource, session, slowly
from standalone import QUICK, StandaloneCluster
from tally import Tally

pytestmark = pytest.mark.clusters

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "210"))
MINUTES = float(os.environ.get("CLUSTER_MINUTES", "60"))
SEED = int(os.environ.get("CLUSTER_SEED", "7"))
ROWS = 20_000
#: Seconds after which a job is stopped, and its test fails.
JOB_SECONDS = 300.0


@pytest.fixture
def tables(place):
    # Without a key, so that rows could be there twice.
    place.db.execute("CREATE TABLE appended (id bigint NOT NULL, name nvarchar(20))")
    for table in ("replaced", "merged"):
        place.db.execute(f"CREATE TABLE {table} (id bigint NOT NULL PRIMARY KEY, name nvarchar(20))")
    return place


class Share:
    """A part of the faults and of the time."""

    def __init__(self, name: str, faults: float, minutes: float, summary: list) -> None:
        self.tally = Tally(f"{name}, seed {SEED}")
        self.wanted = max(1, round(FAULTS * faults))
        self.deadline = time.monotonic() + MINUTES * 60 * minutes
        self.chance = random.Random(f"{SEED} {name}")
        summary.append(self.tally)

    def goes_on(self) -> bool:
        """Whether another job is to run."""
        assert self.tally.is_sound(), self.tally
        enough = self.tally.killed >= self.wanted
        assert enough or time.monotonic() < self.deadline, f"out of time: {self.tally}"
        return not enough


def kill_one(find) -> Kill:
    """A way to kill one of the processes that `find` finds."""

    def kill(chance: random.Random) -> bool:
        victims = find()
        with contextlib.suppress(OSError):
            if victims:
                os.kill(chance.choice(victims), signal.SIGKILL)
                return True
        return False

    return kill


def sparks(depth: int) -> list[int]:
    """Executors, with 0; the daemons that fork their Python, with 1; and the workers that these have forked, with 2."""
    executors = [pid for pid, one in descendants(os.getpid()).items() if "CoarseGrainedExecutorBackend" in one.line]
    found = {pid for pid in executors if depth == 0}
    for executor in executors if depth else []:
        own = {pid: one for pid, one in descendants(executor).items() if "pyspark.daemon" in one.line}
        found |= {pid for pid, one in own.items() if (one.parent == executor) == (depth == 1)}
    return sorted(found)


def speculative_attempts(spark) -> int:
    """How often speculation has started an attempt beside one that ran."""
    tracker, store = spark.sparkContext.statusTracker(), spark.sparkContext._jsc.sc().statusStore()
    stages = [stage for job in tracker.getJobIdsForGroup(None) for stage in tracker.getJobInfo(job).stageIds]
    tasks = [store.taskList(stage, 0, 10_000) for stage in stages]
    return sum(some.apply(index).speculative() for some in tasks for index in range(some.size()))


def test_executors_and_their_workers(tables, summary, tmp_path):
    settings = {
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.cores.max": "2",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.multiplier": "1.2",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "500ms",
        "spark.task.maxFailures": "1000",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        # Batches reach the sink one by one, so that attempts that die have brought some.
        "spark.buffer.size": "1024",
    }
    share = Share("Spark's executors", 0.66, 0.5, summary)
    tally, partitions = share.tally, 10
    cluster = StandaloneCluster(tmp_path / "work", 2)
    spark = session(cluster.url, **settings)
    spark.dataSource.register(TellingSource)
    java = spark.sparkContext._gateway.proc

    def lose_host(chance: random.Random) -> bool:
        cluster.lose_worker(chance.choice(sorted(cluster.workers)))
        return True

    kinds = {
        "hosts": (2, lose_host),
        "executors": (4, kill_one(lambda: sparks(0))),
        "daemons of Python": (14, kill_one(lambda: sparks(1))),
        "workers": (80, kill_one(lambda: sparks(2))),
    }
    notes = tmp_path / "notes"
    notes.touch()

    def save(frame, table: str, mode: str, name: str, die: str) -> None:
        write = frame.mapInArrow(slowly, frame.schema).write.format("bulkwire").option("url", tables.url)
        write = write.options(table=table, batchRows="500", loadId=name, notes=str(notes), die=die).mode(mode)
        if table == "merged":
            write = write.options(mode="upsert", key="id")
        stop = threading.Timer(JOB_SECONDS, spark.sparkContext.cancelAllJobs)
        stop.start()
        try:
            write.save()
        finally:
            stop.cancel()

    try:
        while share.goes_on():
            table, mode = [("appended", "append"), ("replaced", "overwrite"), ("merged", "append")][tally.jobs % 3]
            if mode == "append":
                tables.db.execute(f"TRUNCATE TABLE {table}")
            frame = spark.range(0, ROWS, numPartitions=partitions).selectExpr("id", "concat('n', id) AS name")
            die = share.chance.choice(["before", "after", "", "", "", ""])
            most = min(share.chance.randint(5, 15), share.wanted - tally.killed)
            with Killer(share.chance, kinds, (0.3, 1.5), most) as killer:
                if die:
                    # Spark says that the job failed, whatever stands in the table.
                    with pytest.raises(Exception, match=r"(?i)crashed|exited|failed"):
                        save(frame, table, mode, f"job-{tally.jobs}", die)
                    tally.faults[f"processes {die} their commit"] += 1
                    tally.again += 1
                save(frame, table, mode, f"job-{tally.jobs}", "")
            tally.faults.update(killer.killed)
            tally.job(tables, table, ROWS)
        for line in notes.read_text().splitlines():
            note = json.loads(line)
            whole = [task for task, rows in note["attempts"].items() if rows == ROWS // partitions]
            tally.attempts += len(note["attempts"])
            tally.counted += len(note["accepted"])
            tally.twice += len(set(whole) - {str(task) for task in note["accepted"]})
            assert len(set(note["accepted"])) == partitions
            assert {str(task) for task in note["accepted"]} <= set(whole)
        tally.speculative = speculative_attempts(spark)
        assert tally.attempts > tally.counted, tally
        assert tally.speculative or tally.jobs < 10, tally
    finally:
        spark.stop()
        java.stdin.close()
        java.wait(timeout=60)
        cluster.stop()


def test_drivers(tables, summary):
    driver = pathlib.Path(__file__).with_name("spark_driver.py")
    environment = {**os.environ, "BULKWIRE_URL": tables.url}
    share = Share("Spark's drivers", 0.05, 0.25, summary)
    tally = share.tally
    while share.goes_on():
        tables.db.execute("TRUNCATE TABLE appended")
        done, tries = False, 0
        while not done:
            # Not for ever, if chance wants it so.
            ways = ["in a task", "before the commit", "after the commit"] if tries < 5 else []
            die = share.chance.choice([*ways, ""])
            command = [sys.executable, driver, "appended", str(ROWS), "4", f"load-{tally.jobs}", die]
            command += ["spark.sql.execution.arrow.maxRecordsPerBatch=500"]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert process.stdout.readline().startswith("loading")
            if die == "in a task":
                time.sleep(share.chance.uniform(0, 8))
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=JOB_SECONDS)
            done, tries = process.returncode == 0, tries + 1
            # One that finds its load done has no commit to die at.
            if not done:
                assert process.returncode == -signal.SIGKILL
                tally.faults[f"drivers {die}"] += 1
        tally.again += tries > 1
        tally.job(tables, "appended", ROWS)


def test_workers_and_nodes_of_ray(tables, summary):
    share = Share("Ray", 0.29, 0.25, summary)
    tally = share.tally
    small = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    # Hooks for the process's end may be set by its first thread only, and nodes are added by another.
    cluster = Cluster(initialize_head=True, head_node_args={**small, "num_cpus": 0}, shutdown_at_exit=False)
    # Before there are other nodes, so that this process belongs to the one that stays.
    ray.init(cluster.address, log_to_driver=False)
    for _ in range(2):
        cluster.add_node(**small)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def busy() -> list[int]:
        # Neither those that wait for work nor the agents without which a node is given up.
        lines = {pid: one.line for pid, one in descendants(os.getpid()).items()}
        return sorted(pid for pid, line in lines.items() if re.match("ray::.*(Map|Read|Write)", line))

    def lose_node(chance: random.Random) -> bool:
        # With what its workers have made for others; what they have reported may be made again.
        cluster.remove_node(chance.choice(sorted(cluster.worker_nodes, key=id)), allow_graceful=False)
        cluster.add_node(**small)
        return True

    kinds = {"workers": (6, kill_one(busy)), "nodes": (1, lose_node)}
    try:
        while share.goes_on():
            mode, table = [("append", "appended"), ("replace", "replaced"), ("upsert", "merged")][tally.jobs % 3]
            if mode != "replace":
                tables.db.execute(f"TRUNCATE TABLE {table}")
            dataset = ray.data.range(ROWS, override_num_blocks=10)
            how = {"batch_format": "pyarrow", "batch_size": 500}
            if tally.jobs % 4 == 3:
                dataset = dataset.map_batches(Named, compute=ray.data.ActorPoolStrategy(size=1), num_cpus=0.5, **how)
            else:
                dataset = dataset.map_batches(named, max_retries=-1, **how)
            sink = bulkwire.ray.BulkwireDatasink(table, tables.url, mode=mode, key="id" if mode == "upsert" else ())
            most = min(share.chance.randint(3, 8), share.wanted - tally.killed)
            with Killer(share.chance, kinds, (0.5, 2.0), most) as killer:
                dataset.write_datasink(sink, ray_remote_args={"max_retries": -1})
            assert sink.report.rows == ROWS
            tally.faults.update(killer.killed)
            tally.job(tables, table, ROWS)
    finally:
        ray.shutdown()
        cluster.shutdown()
