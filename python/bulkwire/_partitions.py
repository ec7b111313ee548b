"""Reads that many processes share: a table or query in parts, each of which any process can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _bulkwire
from ._connection import check_batch_rows
from ._exceptions import UsageError
from ._job import Address

if TYPE_CHECKING:
    import pyarrow as pa

#: Parts of a read, unless another number is asked for.
PARTITIONS = 8


@dataclass
class PartitionedRead:
    """What is to be read: a table or a query.

    Attributes:
        address: where to connect.
        table: a table or view.
        query: a query instead. To be split, it must be one that may stand in FROM.
        columns: the columns wanted; all without it.
        condition: a condition of T-SQL on a table's rows.
        partitions: how many parts to aim at.
        partition_by: the column that splits the rows; without it a table's clustered key.
        batch_rows: rows of a record batch.
        form: `guid`, `datetimeoffset` and `datetime2_7` of `Connection.read`.
    """

    address: Address
    table: str | None = None
    query: str | None = None
    columns: list[str] | None = None
    condition: str | None = None
    partitions: int = PARTITIONS
    partition_by: str | None = None
    batch_rows: int = 65_536
    form: dict[str, str] | None = None

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise UsageError("a read needs a table or a query, and not both")
        if not 1 <= self.partitions <= 10_000:
            raise UsageError("partitions must be a number from 1 to 10000")
        check_batch_rows(self.batch_rows)

    def schema(self) -> pa.Schema:
        """Return the columns that a read gives."""
        import pyarrow as pa

        sql = f"SELECT * FROM ({self._sql()}\n) AS bulkwire_rows WHERE 1 = 0"
        with self.address.connect() as db, db.read(sql, **self._form()) as rows:
            return pa.schema(rows)

    def split(self) -> list[bytes]:
        """Return the parts; each row is in one of them."""
        # A table is split as such; the columns of a query are chosen around it.
        query = self._sql() if self.query is not None else None
        with self.address.connect() as db:
            return _bulkwire.partitions(
                db._native, query, self.table, self.columns, self.condition, self.partitions, self.partition_by
            )

    def batches(self, partition: bytes) -> Iterator[pa.RecordBatch]:
        """Read a part."""
        import pyarrow as pa

        with self.address.connect() as db:
            form = {"guid": "bytes", "datetimeoffset": "utc", "datetime2_7": "ns", **self._form()}
            with _bulkwire.read_partition(db._native, partition, batch_rows=self.batch_rows, **form) as rows:
                for batch in rows:
                    yield pa.record_batch(batch)

    def _form(self) -> dict[str, Any]:
        return dict(self.form or {})

    def _sql(self) -> str:
        chosen = "*" if self.columns is None else ", ".join(quoted(column) for column in self.columns)
        if self.query is None:
            return f"SELECT {chosen} FROM {self.table}"
        return self.query if self.columns is None else f"SELECT {chosen} FROM ({self.query}\n) AS bulkwire_query"


def quoted(name: str) -> str:
    """Return a name as T-SQL writes it in brackets."""
    return "[" + name.replace("]", "]]") + "]"
