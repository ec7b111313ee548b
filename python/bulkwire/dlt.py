"""A destination for dlt pipelines: files of a load package become rows of SQL Server's tables, each once.

    >>> import dlt, bulkwire.dlt
    >>> pipeline = dlt.pipeline("orders", destination=bulkwire.dlt.destination("mssql://sa@localhost/sales"))  # doctest: +SKIP
    >>> pipeline.run(rows, table_name="orders", write_disposition="merge", primary_key="id")  # doctest: +SKIP

docs/pipelines.md has what it does with dispositions, types and new columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

try:
    import dlt
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet
    from dlt.common.destination.exceptions import DestinationTerminalException
    from dlt.common.storages.load_package import ParsedLoadJobFileName
except ImportError as error:
    raise ImportError("bulkwire.dlt needs dlt and pyarrow: pip install 'bulkwire[dlt]'") from error

from ._connection import Connection
from ._dlt_client import DatasetConfiguration, StateClient, Target
from ._exceptions import CellError, PlanError
from ._job import PATIENCE, Address
from ._made_tables import make_table
from ._partitions import quoted

_MODES = {None: "upsert", "delete-insert": "upsert", "upsert": "upsert", "insert-only": "insert-new"}


def destination(
    url: str | None = None,
    *,
    schema: str | None = None,
    ledger_schema: str = "dbo",
    retry_for: float = PATIENCE,
    max_parallel_load_jobs: int | None = None,
    **connection: Any,
) -> Any:
    """Make a destination for `dlt.pipeline`.

    Args:
        url: a URL or keyword string of `bulkwire.connect`; without it and `server` that of the environment variable `BULKWIRE_URL`.
        schema: the schema of the tables, which is made if it is missing; else the pipeline's `dataset_name`, or `dbo`.
        ledger_schema: the schema of the tables that record which files are loaded.
        retry_for: seconds for which transient errors are tried again.
        max_parallel_load_jobs: files that are loaded at the same time; those of one table come one after the other.
        **connection: keywords of `bulkwire.connect`.
    """
    address = Address(url, **connection)

    def load(items: Any, table: Any, dataset: str = "dbo") -> None:
        try:
            with address.connect() as db:
                _load_file(db, str(items), table, dataset, {"ledger_schema": ledger_schema, "retry_for": retry_for})
        except (CellError, PlanError) as error:
            # Another try would end the same way.
            raise DestinationTerminalException(str(error)) from error

    load.__name__ = load.__qualname__ = "bulkwire"
    made = dlt.destination(
        load,
        spec=DatasetConfiguration,
        batch_size=0,
        name="bulkwire",
        loader_file_format="parquet",
        naming_convention="snake_case",
        loader_parallelism_strategy="table-sequential",
        max_parallel_load_jobs=max_parallel_load_jobs,
    )()
    client = type("BulkwireClient", (StateClient,), {"target": Target(address, schema, load)})
    setattr(type(made), "client_class", property(lambda _: client))  # noqa: B010 (a type checker sees a method)
    return made


def _load_file(db: Connection, path: str, table: Mapping[str, Any], schema: str, options: dict[str, Any]) -> None:
    columns: dict[str, Mapping[str, Any]] = dict(table["columns"])
    name = f"{quoted(schema)}.{quoted(table['name'])}"
    mode, key = _way(table, columns)
    make_table(db, schema, name, columns, key)
    # The name of a file that is tried again differs in the number of tries.
    package = f"{Path(path).parent.parent.name}/{table['name']}"[:80]
    load_id = f"{package}/{ParsedLoadJobFileName.parse(path).file_id}"
    if mode == "replace" and _is_begun(db, package, load_id, options["ledger_schema"]):
        mode = "append"
        if _is_broken_off(db, load_id, options["ledger_schema"]):
            # It had begun to replace the rows, and another file has done so: what it has in its stage is loaded again.
            db.forget_load(load_id, ledger_schema=options["ledger_schema"])
    file = pyarrow.parquet.ParquetFile(path)
    wanted = [column for column in file.schema_arrow.names if column in columns]
    chosen = pa.schema([file.schema_arrow.field(column) for column in wanted])
    merges = mode in ("upsert", "insert-new")
    batches = file.iter_batches(columns=wanted)
    reader = pa.RecordBatchReader.from_batches(chosen, _last_of_key(file, key, batches) if merges else batches)
    db.load(name, reader, mode=mode, key=key if merges else (), load_id=load_id, **options)


def _last_of_key(file: Any, key: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave out rows whose key comes again further down: one of them counts, as in dlt's own destinations."""
    keys = file.read(columns=key)
    rows = keys.append_column("", pa.array(range(keys.num_rows), pa.int64()))
    last = rows.group_by(key).aggregate([("", "max")]).column("_max")
    if len(last) == keys.num_rows:
        yield from batches
        return
    first = 0
    for batch in batches:
        numbers = pa.array(range(first, first + batch.num_rows), pa.int64())
        first += batch.num_rows
        yield batch.filter(pc.is_in(numbers, last.combine_chunks()))


def _way(table: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """What happens to existing rows, and the key."""
    key = [name for name, column in columns.items() if column.get("primary_key")]
    merge_key = [name for name, column in columns.items() if column.get("merge_key")]
    disposition = table.get("write_disposition", "append")
    if disposition in ("append", "replace"):
        return str(disposition), []
    if disposition != "merge":
        raise DestinationTerminalException(f"bulkwire has no write disposition {disposition!r}: append, replace and merge")
    strategy = table.get("x-merge-strategy")
    if strategy not in _MODES:
        raise DestinationTerminalException(f"bulkwire has no merge strategy {strategy!r}: upsert and insert-only")
    if key and merge_key and set(key) != set(merge_key):
        text = (
            f"merging into {table['name']}: the primary_key {key} and the merge_key {merge_key} differ, and bulkwire merges by one key"
        )
        raise DestinationTerminalException(text)
    key = key or merge_key
    if not key:
        raise DestinationTerminalException(f"merging into {table['name']} needs a primary_key")
    for hint in ("hard_delete", "dedup_sort"):
        if any(column.get(hint) for column in columns.values()):
            raise DestinationTerminalException(f"bulkwire does not know the hint {hint}")
    return _MODES[strategy], key


def _is_begun(db: Connection, package: str, load_id: str, ledger_schema: str) -> bool:
    """Whether another file of the package has replaced the table's rows already."""
    ledger = f"{quoted(ledger_schema)}.[bulkwire_loads]"
    if db.fetch("SELECT OBJECT_ID(@ledger)", {"ledger": ledger})[0][0] is None:
        return False
    found = db.fetch(
        f"SELECT COUNT(CASE WHEN load_id <> @load THEN 1 END), COUNT(CASE WHEN load_id = @load AND mode = 'replace' THEN 1 END) "
        f"FROM {ledger} WHERE LEFT(load_id, LEN(@package) + 1) = @package + N'/' AND is_done = 1",
        {"package": package, "load": load_id},
    )
    others, own = found[0]
    # The file that has replaced the rows itself, but whose answer was lost, is the same load only in the same mode.
    return bool(others) and not own


def _is_broken_off(db: Connection, load_id: str, ledger_schema: str) -> bool:
    """Whether a file was to replace the table's rows, and has not."""
    ledger = f"{quoted(ledger_schema)}.[bulkwire_loads]"
    found = db.fetch(f"SELECT COUNT(*) FROM {ledger} WHERE load_id = @load AND mode = 'replace' AND is_done = 0", {"load": load_id})
    return bool(found[0][0])
