"""Dask's DataFrames to and from SQL Server, each row once.

    >>> import bulkwire.dask
    >>> frame = bulkwire.dask.read("dbo.orders", "mssql://sa@localhost/sales", partitions=16)  # doctest: +SKIP
    >>> bulkwire.dask.write(frame, "dbo.copies", "mssql://sa@localhost/sales", mode="replace")  # doctest: +SKIP

docs/spark.md has the guarantees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

try:
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    from dask.base import compute
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError("bulkwire.dask needs Dask's DataFrames and pyarrow: pip install 'bulkwire[dask]'") from error

from ._exceptions import UsageError
from ._job import STALE_HOURS, Address, Job, JobReport, TaskReceipt
from ._partitions import PARTITIONS, PartitionedRead


def write(
    frame: Any,
    table: str,
    url: str | None = None,
    *,
    mode: str = "append",
    key: str | Sequence[str] = (),
    load_id: str | None = None,
    create: bool = False,
    types: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    stale_hours: float = STALE_HOURS,
    **connection: Any,
) -> JobReport:
    """Write a DataFrame into a table: tasks load its partitions into a stage, and one transaction publishes their rows.

    The index is left out; `frame.reset_index()` makes a column of it.

    Args:
        frame: a `dask.dataframe.DataFrame`.
        table: the target.
        url: a URL or keyword string of `bulkwire.connect`; without it and `server` that of the environment variable `BULKWIRE_URL`,
            for every worker.
        mode: what happens to existing rows: "append", "truncate", "replace", "upsert", "insert-new".
        key: the key's columns, for "upsert" and "insert-new".
        load_id: a name under which the database records that the load is done; a load of that name is then not repeated.
        create: make the table if it is missing, in the transaction that fills it.
        types: with `create`, SQL types of some columns.
        options: further keywords of `Connection.load`: `strategy`, `keep_identity`, `table_lock`, `writers`, `batch_rows`,
            `retry_for`, `ledger_schema`, and the conversions.
        stale_hours: age after which a stage of this table counts as left behind by a process that was killed.
        **connection: keywords of `bulkwire.connect`.
    """
    schema = pa.Schema.from_pandas(frame._meta, preserve_index=False).remove_metadata()
    given = {**(options or {}), "mode": mode, "key": key, "create": create, "types": types}
    job = Job(Address(url, **connection), table, schema, given, load_id=load_id, stale_hours=stale_hours)
    job.prepare()
    try:
        receipts = compute(*[delayed(_load)(job, part) for part in frame.to_delayed()])
        return job.publish(list(receipts))
    except BaseException:
        job.abandon()
        raise


def read(
    table: str | None = None,
    url: str | None = None,
    *,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    partitions: int = PARTITIONS,
    partition_by: str | None = None,
    guid: str = "text",
    datetimeoffset: str = "utc",
    datetime2_7: str = "ns",
    **connection: Any,
) -> Any:
    """Read a table or a query as a DataFrame of Arrow types. Each task reads a range of a key over a connection of its own.

    Args:
        table: a table or view.
        url: as for `write`.
        query: a query instead of a table. To be split, it must be one that may stand in FROM.
        columns: the columns wanted; all without it.
        where: a condition of T-SQL on the table's rows.
        partitions: parts to aim at.
        partition_by: the column that splits the rows; without it the table's clustered key.
        guid, datetimeoffset, datetime2_7: as for `Connection.read`.
        **connection: keywords of `bulkwire.connect`.
    """
    if where is not None and table is None:
        raise UsageError("where is for a table; a query has a WHERE of its own")
    form = {"guid": guid, "datetimeoffset": datetimeoffset, "datetime2_7": datetime2_7}
    chosen = list(columns) if columns is not None else None
    plan = PartitionedRead(Address(url, **connection), table, query, chosen, where, partitions, partition_by, form=form)
    schema = plan.schema()
    return dd.from_map(_read, plan.split(), plan=plan, schema=schema, meta=_frame(schema.empty_table()))


def _load(job: Job, part: pd.DataFrame) -> TaskReceipt:
    return job.load(pa.Table.from_pandas(part, preserve_index=False).to_batches())


def _read(part: bytes, plan: PartitionedRead, schema: pa.Schema) -> pd.DataFrame:
    return _frame(pa.Table.from_batches(plan.batches(part), schema=schema))


def _frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)
