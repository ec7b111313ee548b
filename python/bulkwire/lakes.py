"""Tables of lakes as sources of loads: Delta, Iceberg, directories of Parquet files.

    >>> import bulkwire.lakes
    >>> orders = bulkwire.lakes.delta("/lake/orders")  # doctest: +SKIP
    >>> db.load("dbo.orders", orders, mode="replace", load_id=orders.load_id)  # doctest: +SKIP

A version of such a table never changes, so its number names the load: with `load_id` each version is loaded once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    return LakeTable(load_id, lambda: _reader(table.to_pyarrow_dataset(), columns, where))


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


def parquet(folder: str | Path, *, columns: Sequence[str] | None = None, where: Any = None, partitioning: Any = "hive") -> LakeTable:
    """Return the Parquet files of a directory, and of those below it, as one table. Names such as `day=2026-03-01` give columns.

    Its load is named by the files' names, sizes and times: a directory whose files change is another load.

    Args:
        folder: the directory.
        columns: the columns wanted; all without it.
        where: a `pyarrow.dataset` expression that the rows meet.
        partitioning: how directories give columns, as `pyarrow.dataset.dataset` has it; `None` for not at all.
    """
    import pyarrow.dataset as datasets

    root = Path(folder)
    files = sorted(
        path for path in root.rglob("*.parquet") if not any(part.startswith(("_", ".")) for part in path.relative_to(root).parts)
    )
    if not files:
        raise FileNotFoundError(f"{root} has no Parquet files")
    seen = hashlib.sha256()
    for path in files:
        state = path.stat()
        seen.update(f"{path.relative_to(root)}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    # In the order of their names, every time.
    whole = datasets.dataset([str(path) for path in files], format="parquet", partitioning=partitioning, partition_base_dir=str(root))
    load_id = _load_id("parquet", str(root), seen.hexdigest()[:16], columns, where)
    return LakeTable(load_id, lambda: _reader(whole, columns, where))


def _reader(dataset: Any, columns: Sequence[str] | None, where: Any) -> pa.RecordBatchReader:
    return dataset.scanner(columns=list(columns) if columns is not None else None, filter=where).to_reader()


def _load_id(kind: str, name: str, version: str, columns: Sequence[str] | None, where: Any) -> str:
    """A part of a version is another load than the whole."""
    part = ""
    if columns is not None or where is not None:
        part = " part " + hashlib.sha256(repr((list(columns or ()), str(where))).encode()).hexdigest()[:8]
    return f"{kind} {name.rstrip('/').rsplit('/', 1)[-1][: _NAME_MAX - 30]} {version}{part}"[:128]
