"""A cluster of Spark's on this machine, of several hosts: Spark runs a task's second attempt on another host only."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import time

import pyspark

#: JVMs that live for seconds need no second compiler.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


class StandaloneCluster:
    """A master and some workers, each on an address of its own of 127.0.0.0/8, with one core.

    Attributes:
        url: of the master.
        workers: the processes that start executors.
    """

    def __init__(self, folder: pathlib.Path, workers: int) -> None:
        self.folder, self.workers = folder, {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        self.master = self._start("master.Master", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        deadline = time.monotonic() + 120
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < deadline, "Spark's master does not start"
            time.sleep(0.2)
        for number in range(workers):
            self.start_worker(f"127.0.0.{number + 2}")

    def start_worker(self, host: str) -> None:
        """Start a worker, which takes the place of one that was lost."""
        settings = ["--cores", "1", "--memory", "700M", "--webui-port", "0", "--work-dir", str(self.folder)]
        self.workers[host] = self._start("worker.Worker", host, *settings, self.url)

    def lose_worker(self, host: str) -> None:
        """Kill a worker, and start another one."""
        self.workers[host].kill()
        self.workers[host].wait()
        self.start_worker(host)

    def stop(self) -> None:
        """End all processes."""
        for process in [*self.workers.values(), self.master]:
            process.terminate()
        for process in [*self.workers.values(), self.master]:
            process.wait(timeout=60)

    def _start(self, name: str, host: str, *arguments: str) -> subprocess.Popen:
        home = pathlib.Path(pyspark.__file__).parent
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--host", host, *arguments]
        environment = {**os.environ, "SPARK_DAEMON_MEMORY": "200m", "SPARK_DAEMON_JAVA_OPTS": QUICK, "SPARK_LOCAL_IP": host}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
