"""Ray Data to and from SQL Server, each row once.

    >>> import bulkwire.ray
    >>> dataset = bulkwire.ray.read("dbo.orders", url="mssql://sa@localhost/sales")  # doctest: +SKIP
    >>> dataset.write_datasink(bulkwire.ray.BulkwireDatasink("dbo.copies", url="mssql://sa@localhost/sales"))  # doctest: +SKIP

docs/spark.md has the guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

try:
    import pyarrow as pa
    import ray.data
    from ray.data.block import Block, BlockAccessor, BlockMetadata
    from ray.data.datasource import Datasink, Datasource, ReadTask
except ImportError as error:
    raise ImportError("bulkwire.ray needs Ray Data and pyarrow: pip install 'bulkwire[ray]'") from error

from ._exceptions import UsageError
from ._job import STALE_HOURS, Address, Job, JobReport, TaskReceipt, loadable_columns
from ._partitions import PartitionedRead

if TYPE_CHECKING:
    from ray.data.datasource.datasink import WriteResult


class BulkwireDatasink(Datasink[list[TaskReceipt]]):
    """Writes a dataset into a table: tasks load into a stage, and one transaction publishes their rows.

    Args:
        table: the target.
        url: a URL or keyword string of `bulkwire.connect`; without it and `server` that of the environment variable `BULKWIRE_URL`,
            on every node.
        mode: what happens to existing rows: "append", "truncate", "replace", "upsert", "insert-new".
        key: the key's columns, for "upsert" and "insert-new".
        load_id: a name under which the database records that the load is done; a load of that name is then not repeated.
        create: make the table if it is missing, in the transaction that fills it.
        types: with `create`, SQL types of some columns.
        schema: the dataset's columns, a `pyarrow.Schema` or what `dataset.schema()` returns. It is needed if the table is to be made,
            or has columns that the dataset lacks: Ray does not say beforehand what a dataset has.
        options: further keywords of `Connection.load`: `strategy`, `keep_identity`, `table_lock`, `writers`, `batch_rows`,
            `retry_for`, `ledger_schema`, and the conversions.
        stale_hours: age after which a stage of this table counts as left behind by a driver that was killed.
        **connection: keywords of `bulkwire.connect`.

    Attributes:
        report: what the load brought, once it is done.
    """

    def __init__(
        self,
        table: str,
        url: str | None = None,
        *,
        mode: str = "append",
        key: str | Sequence[str] = (),
        load_id: str | None = None,
        create: bool = False,
        types: Mapping[str, str] | None = None,
        schema: Any = None,
        options: Mapping[str, Any] | None = None,
        stale_hours: float = STALE_HOURS,
        **connection: Any,
    ) -> None:
        self.report: JobReport | None = None
        self._job: Job | None = None
        self._address = Address(url, **connection)
        self._table = table
        self._named: dict[str, Any] = {"load_id": load_id, "stale_hours": stale_hours}
        self._schema: pa.Schema | None = getattr(schema, "base_schema", schema)
        self._keys = [key] if isinstance(key, str) else list(key)
        if create and self._schema is None:
            raise UsageError("create=True needs the columns: schema=dataset.schema()")
        if self._schema is not None and not isinstance(self._schema, pa.Schema):
            raise UsageError("schema must be a pyarrow.Schema: make the dataset of tables, not of objects")
        self._options = {**(options or {}), "mode": mode, "key": key, "create": create, "types": types}

    def on_write_start(self, schema: pa.Schema | None = None) -> None:
        """Check the columns and make the stage, on the driver."""
        # What Ray says of the columns is that of the blocks before the functions that it runs in the same tasks.
        given = self._schema
        if given is None:
            keeps = self._options.get("keep_identity")
            given = loadable_columns(self._address, self._table, ["*"] if keeps else self._keys)
        job = Job(self._address, self._table, given, self._options, **self._named)
        job.prepare()
        self._job = job

    def write(self, blocks: Iterable[Block], ctx: Any) -> list[TaskReceipt]:
        """Load blocks, in a task."""
        job = self._job
        if job is None:
            raise UsageError("on_write_start has not run")
        # A column without a value in a block has another type there.
        alike = groupby(self._tables(blocks, job), key=lambda table: table.schema)
        return [job.load(batch for table in tables for batch in table.to_batches()) for _, tables in alike]

    def on_write_complete(self, write_result: WriteResult[list[TaskReceipt]]) -> None:
        """Publish what the tasks have loaded, on the driver."""
        if self._job is None:
            self.report = self._publish_nothing()
            return
        self.report = self._job.publish([receipt for receipts in write_result.write_returns for receipt in receipts])

    def on_write_failed(self, error: Exception) -> None:
        """Drop what the tasks have loaded, on the driver."""
        if self._job is not None:
            self._job.abandon()

    def _tables(self, blocks: Iterable[Block], job: Job) -> Iterator[pa.Table]:
        for block in blocks:
            table = BlockAccessor.for_block(block).to_arrow()
            own = {name.lower() for name in table.column_names}
            absent = [name for name in job.schema.names if name.lower() not in own]
            if absent and table.num_rows:
                # The rows would be taken for NULLs there.
                raise UsageError(
                    f"the dataset lacks the column {absent[0]!r} of {self._table}: say what it has, by schema=dataset.schema()"
                )
            yield table

    def _publish_nothing(self) -> JobReport:
        """Ray starts no write for a dataset without a block."""
        if self._options["mode"] in ("replace", "truncate"):
            with self._address.connect() as db:
                db.execute(f"TRUNCATE TABLE {self._table}")
        return JobReport(self._table, 0)


class BulkwireDatasource(Datasource):
    """Reads a table or a query in parts; `read` makes one."""

    def __init__(self, read: PartitionedRead) -> None:
        super().__init__()
        self._read = read

    def estimate_inmemory_data_size(self) -> int | None:
        """Return nothing: the size is not known beforehand."""
        return None

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None) -> list[ReadTask]:
        """Split the rows, on the driver."""
        self._read.partitions = max(1, parallelism)
        read, schema = self._read, self._read.schema()

        def task(part: bytes) -> ReadTask:
            def tables() -> Iterator[pa.Table]:
                found = False
                for batch in read.batches(part):
                    found = True
                    yield pa.Table.from_batches([batch])
                if not found:
                    yield schema.empty_table()

            metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return ReadTask(tables, metadata, schema=schema, per_task_row_limit=per_task_row_limit)

        return [task(part) for part in self._read.split()]


def read(
    table: str | None = None,
    url: str | None = None,
    *,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    partitions: int | None = None,
    partition_by: str | None = None,
    batch_rows: int = 65_536,
    guid: str = "text",
    datetimeoffset: str = "utc",
    datetime2_7: str = "ns",
    **connection: Any,
) -> ray.data.Dataset:
    """Read a table or a query as a dataset. Each task reads a range of a key over a connection of its own.

    Args:
        table: a table or view.
        url: a URL or keyword string of `bulkwire.connect`; without it and `server` that of the environment variable `BULKWIRE_URL`,
            on every node.
        query: a query instead of a table. To be split, it must be one that may stand in FROM.
        columns: the columns wanted; all without it.
        where: a condition of T-SQL on the table's rows.
        partitions: parts to aim at; chosen by Ray otherwise.
        partition_by: the column that splits the rows; without it the table's clustered key.
        batch_rows: rows of a record batch.
        guid, datetimeoffset, datetime2_7: as for `Connection.read`.
        **connection: keywords of `bulkwire.connect`.
    """
    if where is not None and table is None:
        raise UsageError("where is for a table; a query has a WHERE of its own")
    form = {"guid": guid, "datetimeoffset": datetimeoffset, "datetime2_7": datetime2_7}
    plan = PartitionedRead(
        Address(url, **connection),
        table,
        query,
        list(columns) if columns is not None else None,
        where,
        partition_by=partition_by,
        batch_rows=batch_rows,
        form=form,
    )
    return ray.data.read_datasource(BulkwireDatasource(plan), override_num_blocks=partitions)
