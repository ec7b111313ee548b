"""FreeTDS's freebcp with a file of tab-delimited text, which is written before the clock starts.
It does not say how long it took: time, CPU time and memory are the whole process's."""

from __future__ import annotations

import pathlib
import re
import tempfile

from race.drivers.contestant import Process, Task, report
from race.drivers.host_file import host_file


def main() -> None:
    task = Task.of_arguments(("load",))
    version = re.search(r"v[\d.]+", Process.run(["tsql", "-C"]).output)
    with tempfile.TemporaryDirectory() as folder:
        file, configuration = pathlib.Path(folder) / "rows.txt", pathlib.Path(folder) / "freetds.conf"
        host_file(task, file, "char")
        configuration.write_text(
            "[global]\ntds version = 7.4\nclient charset = UTF-8\n"
            f"encryption = {'require' if task.encrypt else 'off'}\n"
            f"[race]\nhost = {task.host}\nport = {task.port}\n"
        )
        command = ["freebcp", f"{task.database}.{task.table}", "in", file, "-S", "race", "-U", task.user]
        command += ["-P", task.password, "-c", "-b", task.batch_rows or task.rows, "-h", "TABLOCK"]
        command += ["-A", task.packet_bytes]
        process = Process.run(command, FREETDSCONF=str(configuration), LC_ALL="C.UTF-8")
    copied = re.search(r"(\d+) rows copied", process.output)
    report(
        int(copied[1]) if copied else 0,
        process,
        f"freebcp {version[0].lstrip('v') if version else ''}".strip(),
        source="file",
    )


if __name__ == "__main__":
    main()
