"""ConnectorX (tiberius in Rust): `read_sql` to Arrow. It logs in inside the clock."""

from __future__ import annotations

import urllib.parse

import connectorx

from race import eleven
from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("read",))
    user, password = (urllib.parse.quote(part, safe="") for part in (task.user, task.password))
    url = (
        f"mssql://{user}:{password}@{task.host}:{task.port}/{task.database}"
        f"?encrypt={'true' if task.encrypt else 'false'}&trust_server_certificate=true"
    )
    with Clock() as clock:
        read = connectorx.read_sql(url, f"SELECT * FROM {task.table}", return_type="arrow")
    report(read.num_rows, clock, package("connectorx"), checksum=eleven.checksum(read))


if __name__ == "__main__":
    main()
