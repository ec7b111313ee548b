"""Loads that the tasks of a job make together, each in a process of its own: what Spark, Ray and their like call.

The job's director prepares a stage, a table that takes the rows of all tasks. Each attempt of a task marks its rows with a number
and returns a receipt. The director publishes the rows of the receipts that count, and no others, in one transaction that also
ends the stage. So the target has the rows of each task once, however often tasks fail, run twice or are killed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _bulkwire
from ._connection import Connection, connect, native_options
from ._exceptions import ConfigError, Error, InDoubtError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

#: The column of a stage that says which attempt brought a row.
TASK_COLUMN = "bulkwire_task"

#: Options that say how values are converted on their way into the stage.
CONVERSIONS = (
    "allow_truncate",
    "allow_rounding",
    "replacement",
    "nested_as_json",
    "drop_time_zone",
    "empty_as_null",
    "date_order",
    "year_cutoff",
    "decimal",
    "thousands",
    "currency",
    "percent",
)

#: Seconds for which transient errors are tried again.
PATIENCE = 60.0

#: Stages of the same target that are older are taken for those of jobs that were killed.
STALE_HOURS = 168.0


class Address:
    """Where to connect to. It travels to other processes, and does not show its secrets."""

    def __init__(self, text: str | None = None, **keywords: Any) -> None:
        self._text = text
        self._keywords = keywords

    def connect(self) -> Connection:
        """Connect; without an address to that of the environment variable `BULKWIRE_URL`, here and in each task."""
        text = self._text
        if text is None and "server" not in self._keywords:
            text = os.environ.get("BULKWIRE_URL")
            if text is None:
                raise ConfigError("no server: give a URL, or set the environment variable BULKWIRE_URL, for every process")
        return connect(text, **self._keywords)

    def __repr__(self) -> str:
        return "Address(...)"


@dataclass(frozen=True)
class TaskReceipt:
    """What an attempt of a task brought.

    Attributes:
        task: the number that marks its rows.
        rows: how many they are.
    """

    task: int
    rows: int


@dataclass(frozen=True)
class JobReport:
    """What a job brought.

    Attributes:
        table: the target.
        rows: rows of all tasks.
        inserted: rows that a stage brought and the table did not have; `None` for rows that went straight into the table.
        updated: rows of the table that were changed by their key.
        unchanged: rows of the table that stay as they are.
        published_by: how rows came from the stage into the table: "switch", "rename", "merge"; `None` for "straight".
        was_done: an earlier run under the same `load_id` had done everything.
    """

    table: str
    rows: int
    inserted: int | None = None
    updated: int | None = None
    unchanged: int | None = None
    published_by: str | None = None
    was_done: bool = False


@dataclass
class Job:
    """A load whose rows come from the tasks of a job.

    `prepare`, `publish` and `abandon` are for its director, `load` for its tasks. A job travels by pickle from one to the others.

    Attributes:
        address: where to connect.
        table: the target.
        schema: the columns that every task brings.
        options: keywords of `Connection.load`: `mode`, `key`, `strategy`, `create`, `types`, `keep_identity`, `table_lock`,
            `writers`, `batch_rows`, `ledger_schema`, and the conversions.
        load_id: a name under which the database records that the job is done; a job of that name is then not repeated.
        is_stream: the stage stays from one publication to the next, which have numbers.
    """

    address: Address
    table: str
    schema: pa.Schema
    options: dict[str, Any] = field(default_factory=dict)
    load_id: str | None = None
    is_stream: bool = False
    stale_hours: float = STALE_HOURS
    name: str = ""
    stage: str = ""
    is_done: bool = False
    is_in_doubt: bool = False

    def __post_init__(self) -> None:
        if TASK_COLUMN in self.schema.names:
            raise UsageError(f"a column cannot have the name {TASK_COLUMN}, which marks the rows of tasks")
        if self.load_id is not None and not 1 <= len(self.load_id) <= 100:
            raise UsageError("load_id must have 1 to 100 characters")
        if self.is_stream and self.load_id is None:
            raise UsageError("a stream needs a load_id, under which the database records its epochs")
        self.name = self.load_id or secrets.token_hex(8)

    def prepare(self) -> None:
        """Check the schema against the table, and make the stage. Stages that killed jobs left for this table long ago go."""
        with self.address.connect() as db:
            self._drop_stale(db)
            options = native_options({**self.options, "load_id": None if self.is_stream else self.load_id})
            empty = self.schema.empty_table()
            stage_of = (self.name, self.is_stream)
            self.stage, columns, self.is_done, _ = _bulkwire.prepare_tasks(db._native, self.table, empty, options, stage_of)
            if columns and not self.is_done:
                # Values of these types go into these columns, or the job ends here.
                marked = self.schema.append(_task_field())
                db.load(self.stage, marked.empty_table(), **self._conversions())

    def load(self, batches: Iterable[pa.RecordBatch]) -> TaskReceipt:
        """Load the rows of a task. An attempt that fails or is killed leaves rows that count for nothing."""
        task = secrets.randbits(63)
        if self.is_done:
            return TaskReceipt(task, 0)
        marked = _marked(batches, task)
        first = next(marked, None)
        if first is None:
            return TaskReceipt(task, 0)
        given = {name: self.options[name] for name in ("writers", "batch_rows") if self.options.get(name) is not None}
        with self.address.connect() as db:
            report = db.load(self.stage, _chained(first, marked), retry_for=self._patience(), **given, **self._conversions())
        return TaskReceipt(task, report.rows)

    def publish(self, receipts: Sequence[TaskReceipt], epoch: int | None = None) -> JobReport:
        """Move the rows of these receipts into the table in one transaction, and end the stage.

        Raises:
            CountMismatchError: the stage lacks rows; nothing was published.
        """
        load_id = self.load_id if epoch is None else f"{self.load_id}/{epoch}"
        options = native_options({**self.options, "load_id": load_id, "retry_for": self._patience()})
        tasks = [(receipt.task, receipt.rows) for receipt in receipts if receipt.rows]
        if self.is_done:
            return JobReport(self.table, 0, was_done=True)
        with self.address.connect() as db:
            empty = self.schema.empty_table()
            stage_of = (self.name, self.is_stream)
            try:
                done = _bulkwire.publish_tasks(db._native, self.table, empty, options, stage_of, tasks)
            except InDoubtError:
                self.is_in_doubt = True
                raise
            if epoch is not None:
                self._forget_epoch(db, epoch - KEPT_EPOCHS)
        return JobReport(self.table, *done)

    def abandon(self) -> None:
        """Drop the stage with its rows. Attempts that still run then fail.

        A stage whose publication is in doubt stays: if it is there, nothing was published.
        """
        if self.stage and not self.is_stream and not self.is_in_doubt:
            with self.address.connect() as db:
                db.execute(_dropping(self.stage))

    def _patience(self) -> float:
        patience = self.options.get("retry_for")
        return PATIENCE if patience is None else float(patience)

    def _conversions(self) -> dict[str, Any]:
        return {name: self.options[name] for name in CONVERSIONS if self.options.get(name) is not None}

    def _drop_stale(self, db: Connection) -> None:
        seconds = int(self.stale_hours * 3600)
        for (name,) in db.fetch(_STALE, {"table": self.table, "seconds": seconds}):
            db.execute(_dropping(name))

    def _forget_epoch(self, db: Connection, epoch: int) -> None:
        schema = "[" + str(self.options.get("ledger_schema") or "dbo").replace("]", "]]") + "]"
        for table in ("bulkwire_loads", "bulkwire_load_sources"):
            db.execute(f"DELETE FROM {schema}.{table} WHERE load_id = @load", {"load": f"{self.load_id}/{epoch}"})


def loadable_columns(address: Address, table: str, identities: Sequence[str]) -> pa.Schema:
    """Return the columns of a table that take values, those of its identity only if it is named."""
    import pyarrow as pa

    sql = (
        "SELECT name, is_identity FROM sys.columns WHERE object_id = OBJECT_ID(@table) AND is_computed = 0 "
        "AND system_type_id <> 189 ORDER BY column_id"
    )
    wanted = {name.lower() for name in identities}
    with address.connect() as db:
        found = db.fetch(sql, {"table": table})
        chosen = {name for name, is_identity in found if not is_identity or name.lower() in wanted or "*" in wanted}
        with db.read(f"SELECT * FROM {table} WHERE 1 = 0", datetime2_7="us") as rows:
            return pa.schema([field for field in pa.schema(rows) if field.name in chosen])


#: A stream goes on from its last epochs; records of older ones are not needed.
KEPT_EPOCHS = 100

_STALE = """
SELECT QUOTENAME(s.name) + N'.' + QUOTENAME(t.name)
FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.extended_properties AS o ON o.class = 1 AND o.major_id = t.object_id AND o.minor_id = 0 AND o.name = N'bulkwire.target'
JOIN sys.extended_properties AS p ON p.class = 1 AND p.major_id = t.object_id AND p.minor_id = 0 AND p.name = N'bulkwire.strategy'
WHERE CONVERT(nvarchar(100), p.value) = N'tasks' AND OBJECT_ID(CONVERT(nvarchar(400), o.value)) = OBJECT_ID(@table)
AND t.create_date < DATEADD(second, -@seconds, GETDATE())
"""


def _dropping(stage: str) -> str:
    name = stage.replace("'", "''")
    return f"IF OBJECT_ID(N'{name}', 'U') IS NOT NULL DROP TABLE {stage}"


def _task_field() -> pa.Field:
    import pyarrow as pa

    return pa.field(TASK_COLUMN, pa.int64(), nullable=False)


def _marked(batches: Iterable[pa.RecordBatch], task: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    number = pa.scalar(task, pa.int64())
    for batch in batches:
        if batch.num_rows:
            columns = [*batch.columns, pa.repeat(number, batch.num_rows)]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema.append(_task_field()))


def _chained(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


def typed_options(given: Mapping[str, str], known: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Options that an engine passes as text, by what makes values of them. Case and `_` of names do not matter."""
    plain = {name.lower().replace("_", ""): (name, kind) for name, kind in known.items()}
    values = {}
    for key, text in given.items():
        found = plain.get(key.lower().replace("_", ""))
        if found is None:
            raise UsageError(f"{where} has no option {key!r}; there are {', '.join(sorted(known))}")
        name, kind = found
        try:
            values[name] = kind(text)
        except (ValueError, Error) as error:
            # The value stays out of it: it may be a secret.
            raise UsageError(f"option {key} of {where}: {error}") from None
    return values


def flag(text: str) -> bool:
    """Read "true" or "false"."""
    word = text.strip().lower()
    if word not in ("true", "false", "yes", "no", "1", "0"):
        raise UsageError("must be true or false")
    return word in ("true", "yes", "1")


def names(text: str) -> list[str]:
    """Read names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def column_types(text: str) -> dict[str, str]:
    """Read `name type, name type`, as CREATE TABLE has it."""
    depth, part, parts = 0, "", []
    for letter in text + ",":
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        depth += {"(": 1, ")": -1}.get(letter, 0)
        part += letter
    types = {}
    for part in filter(None, parts):
        name, _, sql_type = part.partition(" ")
        if not sql_type.strip():
            raise UsageError(f"{part!r} is no column with its type")
        types[name.strip("`[]")] = sql_type.strip()
    return types
