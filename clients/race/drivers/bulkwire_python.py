"""The Python package: `db.load` from pyarrow and from Polars, `db.read` to Arrow."""

from __future__ import annotations

import bulkwire
from race.drivers.bulkwire_cli import url
from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("load", "read"), ("pyarrow", "polars"))
    client = package("bulkwire")
    with bulkwire.connect(url(task)) as db:
        if task.mode == "read":
            from race import eleven

            with Clock() as clock:
                read = db.read(f"SELECT * FROM {task.table}", batch_rows=task.batch_rows).to_arrow()
            report(read.num_rows, clock, client, checksum=eleven.checksum(read))
            return
        source = task.arrow()
        if task.variant == "polars":
            import polars

            source, client = polars.from_arrow(source), f"{client}, {package('polars')}"
        with Clock() as clock:
            done = db.load(task.table, source, batch_rows=task.batch_rows, table_lock=True)
        report(done.rows, clock, client, source="arrow")


if __name__ == "__main__":
    main()
