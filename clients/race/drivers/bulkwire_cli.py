"""bulkwire's command: `load` of an Arrow file, `export` to one.

It says how long the transfer took, without the login before; CPU time and memory are those of the process.
"""

from __future__ import annotations

import json
import os
import pathlib
import tempfile

from race.drivers.contestant import Process, Task, report


def binaries() -> pathlib.Path:
    """Where the programs of this checkout were built."""
    return pathlib.Path(os.environ["RACE_BINARIES"])


def url(task: Task) -> str:
    """The connection URL of bulkwire's clients."""
    encrypt = "Mandatory" if task.encrypt else "Off"
    return (
        f"mssql://{task.user}:{task.password}@{task.host}:{task.port}/{task.database}"
        f"?Encrypt={encrypt}&TrustServerCertificate=yes"
    )


def main() -> None:
    task = Task.of_arguments(("load", "read"))
    program = binaries() / "bulkwire"
    version = Process.run([program, "--version"]).output.strip()
    with tempfile.TemporaryDirectory() as folder:
        if task.mode == "load":
            command = ["load", task.table, task.source, "--table-lock", "--batch-rows", task.batch_rows]
        else:
            command = ["export", task.table, pathlib.Path(folder) / "read.arrow"]
        process = Process.run([program, *command, "--quiet", "--json"], BULKWIRE_URL=url(task))
        done = json.loads(process.output.splitlines()[-1])
        process.seconds = done["seconds"]
        if task.mode == "load":
            report(done["rows"], process, version, source="file")
            return
        import pyarrow.ipc

        from race import eleven

        with pyarrow.ipc.open_file(pathlib.Path(folder) / "read.arrow") as file:
            report(done["rows"], process, version, checksum=eleven.checksum(file.read_all()))


if __name__ == "__main__":
    main()
