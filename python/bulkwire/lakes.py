"""Tables of lakes as sources of loads: Delta, Iceberg, directories of Parquet files.

    >>> import bulkwire.lakes
    >>> orders = bulkwire.lakes.delta("/lake/orders")  # doctest: +SKIP
    >>> db.load("dbo.orders", orders, mode="replace", load_id=orders.load_id)  # doctest: +SKIP

A version of such a table never changes, so its number names the load: with `load_id` each version is loaded once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ._exceptions import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

#: Characters of a load's name that a table's own name may take.
_NAME_MAX = 60


class LakeTable:
    """A version of a table, which can be read any number of times. It is Arrow data for `Connection.load`.

    Attributes:
        load_id: a name for the load of just this version.
    """

    def __init__(self, load_id: str, open_reader: Callable[[], pa.RecordBatchReader]) -> None:
        self.load_id = load_id
        self._open = open_reader

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows, from the first."""
        return self._open().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<bulkwire.lakes.LakeTable {self.load_id}>"


def delta(
    uri: str | Path,
    *,
    version: int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
    storage_options: Mapping[str, str] | None = None,
) -> LakeTable:
    """Return a version of a Delta table.

    Args:
        uri: its folder, or a URL that the package deltalake knows.
        version: the version; the latest without it.
        columns: the columns wanted; all without it.
        where: a `pyarrow.dataset` expression that the rows meet.
        storage_options: how to reach the store, as deltalake has it.
    """
    try:
        from deltalake import DeltaTable
    except ImportError as error:
        raise ImportError("bulkwire.lakes.delta needs deltalake and pyarrow: pip install 'bulkwire[delta]'") from error
    table = DeltaTable(str(uri), version=version, storage_options=dict(storage_options) if storage_options else None)
    load_id = _load_id("delta", str(uri), f"{table.metadata().id} version {table.version()}", columns, where)
    return LakeTable(load_id, lambda: _delta_reader(table, columns, where))


def _delta_reader(table: Any, columns: Sequence[str] | None, where: Any) -> pa.RecordBatchReader:
    """Read a Delta table: with deletion vectors or column mapping by deltalake's query engine, which knows them."""
    import pyarrow as pa
    import pyarrow.dataset as datasets
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaProtocolError

    try:
        whole = table.to_pyarrow_dataset()
    except DeltaProtocolError:
        # One thread: a load that goes on needs the rows in the order that they had.
        query = QueryBuilder({"datafusion.execution.target_partitions": "1"}).register("rows", table)
        reader = pa.RecordBatchReader.from_stream(query.execute("SELECT * FROM rows"))
        views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
        plain = reader.cast(pa.schema([field.with_type(views.get(field.type, field.type)) for field in reader.schema]))
        chosen = list(columns) if columns is not None else None
        return datasets.Scanner.from_batches(plain, columns=chosen, filter=where).to_reader()
    return _reader(whole, columns, where)


class DeltaWritten:
    """What `write_delta` has done.

    Attributes:
        rows: rows that were written; 0 if an earlier write had done it.
        version: the version of the table that has the rows, or the latest if they were there before.
        done_before: an earlier write of the same name and number had committed.
    """

    def __init__(self, rows: int, version: int, done_before: bool) -> None:
        self.rows, self.version, self.done_before = rows, version, done_before

    def __repr__(self) -> str:
        return f"<bulkwire.lakes.DeltaWritten {self.rows} rows, version {self.version}>"


def write_delta(
    uri: str | Path,
    data: Any,
    *,
    mode: Literal["append", "overwrite"] = "append",
    app_id: str | None = None,
    version: int | None = None,
    partition_by: str | Sequence[str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DeltaWritten:
    """Write rows to a Delta table, which is made if it is missing. The rows appear in one commit, or not at all.

    With `app_id` and `version` the commit notes both in the table's log. A write whose number is not above the noted one does
    nothing: so an export that is tried again adds its rows once.

        >>> import bulkwire.lakes
        >>> bulkwire.lakes.write_delta(  # doctest: +SKIP
        ...     "/lake/orders", lambda: db.read(table="dbo.orders"), mode="overwrite", app_id="orders", version=20260301
        ... )

    Delta has fewer types than SQL Server: `tinyint` becomes a 16-bit number, `time` becomes text, and a point in time has
    microseconds. A seventh digit that would be lost is an error; round it in the query.

    Args:
        uri: the table's folder, or a URL that the package deltalake knows.
        data: Arrow data such as the result of `Connection.read`, or a function that returns it and is only called if it is needed.
        mode: "append", or "overwrite" to put the rows in the place of all others.
        app_id: who writes.
        version: the number of this write, which rises from one to the next.
        partition_by: columns whose values give folders; for a table that is made.
        storage_options: how to reach the store, as deltalake has it.
    """
    if (app_id is None) != (version is None):
        raise UsageError("app_id and version name a write together")
    try:
        import pyarrow as pa
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    except ImportError as error:
        raise ImportError("bulkwire.lakes.write_delta needs deltalake and pyarrow: pip install 'bulkwire[delta]'") from error
    options = dict(storage_options) if storage_options else None

    def opened() -> DeltaTable | None:
        try:
            return DeltaTable(str(uri), storage_options=options)
        except TableNotFoundError:
            return None

    def done(table: DeltaTable | None) -> DeltaWritten | None:
        if table is None or app_id is None or version is None:
            return None
        noted = table.transaction_version(app_id)
        return DeltaWritten(0, table.version(), True) if noted is not None and noted >= version else None

    table = opened()
    before = done(table)
    if before is not None:
        return before
    reader = pa.RecordBatchReader.from_stream(data() if callable(data) else data)
    schema = pa.schema([field.with_type(_delta_type(field.type)) for field in reader.schema])
    folders = [partition_by] if isinstance(partition_by, str) else list(partition_by) if partition_by else None
    rows = 0
    failures: list[BaseException] = []

    def fitting() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        try:
            for batch in reader:
                rows += batch.num_rows
                columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
                yield pa.record_batch(columns, schema=schema)
        except BaseException as error:
            failures.append(error)
            raise

    transactions = None if app_id is None or version is None else [Transaction(app_id, version)]
    try:
        if table is None:
            # Of two that find no table, one must see what the other has committed.
            # Tried again it would be version 1, a second table upon the first.
            once = CommitProperties(max_commit_retries=0)
            try:
                DeltaTable.create(str(uri), schema, partition_by=folders, storage_options=options, commit_properties=once)
            except (CommitFailedError, DeltaError):
                if opened() is None:
                    raise
            table = DeltaTable(str(uri), storage_options=options)
            before = done(table)
            if before is not None:
                return before
        # The state that was looked at: a commit of the same writer behind it is a conflict.
        write_deltalake(
            table,
            pa.RecordBatchReader.from_batches(schema, fitting()),
            mode=mode,
            partition_by=folders,
            commit_properties=CommitProperties(app_transactions=transactions),
        )
    except (CommitFailedError, DeltaError):
        if failures:
            raise failures[0] from None
        # Another try of the same write may have come first.
        before = done(opened())
        if before is None:
            raise
        return before
    return DeltaWritten(rows, DeltaTable(str(uri), storage_options=options).version(), False)


def _delta_type(data_type: pa.DataType) -> pa.DataType:
    """The type of Delta that takes the values of one of Arrow's."""
    import pyarrow as pa

    if pa.types.is_dictionary(data_type):
        return _delta_type(data_type.value_type)
    if pa.types.is_uint8(data_type):
        return pa.int16()
    if pa.types.is_uint16(data_type):
        return pa.int32()
    if pa.types.is_uint32(data_type):
        return pa.int64()
    if pa.types.is_time(data_type):
        return pa.string()
    if pa.types.is_fixed_size_binary(data_type):
        return pa.binary()
    if pa.types.is_timestamp(data_type):
        return pa.timestamp("us", tz=data_type.tz)
    return data_type


def iceberg(table: Any, *, snapshot_id: int | None = None, columns: Sequence[str] | None = None, where: Any = None) -> LakeTable:
    """Return a snapshot of an Iceberg table.

    Args:
        table: a `pyiceberg.table.Table`.
        snapshot_id: the snapshot; the current one without it.
        columns: the columns wanted; all without it.
        where: a filter as `Table.scan` takes it.
    """
    current = table.current_snapshot()
    number = snapshot_id if snapshot_id is not None else current.snapshot_id if current is not None else 0
    given: dict[str, Any] = {"selected_fields": tuple(columns) if columns is not None else ("*",)}
    if number:
        given["snapshot_id"] = number
    if where is not None:
        given["row_filter"] = where
    load_id = _load_id("iceberg", ".".join(table.name()), f"{table.metadata.table_uuid} snapshot {number}", columns, where)
    return LakeTable(load_id, lambda: table.scan(**given).to_arrow_batch_reader())


def parquet(
    folder: str | Path,
    *,
    columns: Sequence[str] | None = None,
    where: Any = None,
    partitioning: Any = "hive",
    filesystem: Any = None,
) -> LakeTable:
    """Return the Parquet files of a directory, and of those below it, as one table. Names such as `day=2026-03-01` give columns.

    Its load is named by the files' names, sizes and times: a directory whose files change is another load.

    Args:
        folder: the directory, or a URL that `pyarrow.fs` knows (`s3://bucket/folder`).
        columns: the columns wanted; all without it.
        where: a `pyarrow.dataset` expression that the rows meet.
        partitioning: how directories give columns, as `pyarrow.dataset.dataset` has it; `None` for not at all.
        filesystem: a `pyarrow.fs.FileSystem` that has the directory, if a URL does not say enough.
    """
    import pyarrow.dataset as datasets
    import pyarrow.fs

    if filesystem is not None:
        root = str(folder).partition("://")[2] or str(folder)
    elif "://" in str(folder):
        filesystem, root = pyarrow.fs.FileSystem.from_uri(str(folder))
    else:
        filesystem, root = pyarrow.fs.LocalFileSystem(), str(folder)
    root = root.rstrip("/")
    _refuse_tables(filesystem, root)
    selector = pyarrow.fs.FileSelector(root, allow_not_found=True, recursive=True)
    seen = hashlib.sha256()
    paths = []
    # In the order of their names, every time.
    for file in sorted(filesystem.get_file_info(selector), key=lambda file: str(file.path)):
        inside = file.path.removeprefix(root).lstrip("/")
        for kind, reader in _TABLES.items():
            if f"/{kind}/" in f"/{inside}":
                raise _table_error(file.path.partition(f"/{kind}/")[0] or root, kind, reader)
        if inside.endswith(".metadata.json") and inside.split("/")[-2:-1] == ["metadata"]:
            raise _table_error(file.path.rpartition("/metadata/")[0], "metadata", "bulkwire.lakes.iceberg")
        if file.is_file and inside.endswith(".parquet") and not any(part.startswith(("_", ".")) for part in inside.split("/")):
            paths.append(file.path)
            seen.update(f"{inside}\0{file.size}\0{file.mtime_ns}\n".encode())
    if not paths:
        raise FileNotFoundError(f"{folder} has no Parquet files")
    whole = datasets.dataset(paths, format="parquet", filesystem=filesystem, partitioning=partitioning, partition_base_dir=root)
    load_id = _load_id("parquet", root, seen.hexdigest()[:16], columns, where)
    return LakeTable(load_id, lambda: _reader(whole, columns, where))


#: What a folder is that has this one in it, and what reads it.
_TABLES = {"_delta_log": "bulkwire.lakes.delta", ".hoodie": "Spark"}


def _table_error(folder: str, kind: str, reader: str) -> UsageError:
    """Return the refusal of a folder whose files also hold rows that were deleted or replaced."""
    return UsageError(
        f"{folder} is a table of a lake (it has {kind}), and its files also hold rows that were deleted: read it with {reader}"
    )


def _refuse_tables(filesystem: Any, root: str) -> None:
    """Refuse a folder that lies in a table of a lake."""
    import pyarrow.fs

    above = root
    while above:
        for kind, reader in _TABLES.items():
            if filesystem.get_file_info(f"{above}/{kind}").type == pyarrow.fs.FileType.Directory:
                raise _table_error(above, kind, reader)
        notes = filesystem.get_file_info(pyarrow.fs.FileSelector(f"{above}/metadata", allow_not_found=True))
        if any(str(file.path).endswith(".metadata.json") for file in notes):
            raise _table_error(above, "metadata", "bulkwire.lakes.iceberg")
        above = above.rpartition("/")[0]


def _reader(dataset: Any, columns: Sequence[str] | None, where: Any) -> pa.RecordBatchReader:
    return dataset.scanner(columns=list(columns) if columns is not None else None, filter=where).to_reader()


def _load_id(kind: str, name: str, version: str, columns: Sequence[str] | None, where: Any) -> str:
    """A part of a version is another load than the whole."""
    part = ""
    if columns is not None or where is not None:
        part = " part " + hashlib.sha256(repr((list(columns or ()), str(where))).encode()).hexdigest()[:8]
    return f"{kind} {name.rstrip('/').rsplit('/', 1)[-1][: _NAME_MAX - 30]} {version}{part}"[:128]
