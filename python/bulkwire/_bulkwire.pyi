"""The Rust side of the package. The Python modules have the documentation."""

import os
from collections.abc import Callable
from typing import Any, final, type_check_only

from ._exceptions import ServerMessage

__all__ = [
    "Connection",
    "CopyReport",
    "Execution",
    "LoadReport",
    "Reader",
    "Server",
    "__version__",
    "_copy_report",
    "_load_report",
    "partitions",
    "prepare_tasks",
    "publish_tasks",
    "read_partition",
    "run_command",
    "run_copy",
    "run_package_words",
]

@final
class Connection:
    @staticmethod
    def open(text: str) -> Connection: ...
    @property
    def address(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def in_transaction(self) -> bool: ...
    def check_transaction(self) -> None: ...
    def close(self) -> None: ...
    def cancel(self) -> None: ...
    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def execute(self, sql: str, params: Any = None) -> Execution: ...
    def fetch(self, sql: str, params: Any = None) -> list[tuple[list[str], list[tuple[Any, ...]]]]: ...
    def read(
        self,
        sql: str,
        params: Any,
        *,
        batch_rows: int,
        guid: str,
        datetimeoffset: str,
        datetime2_7: str,
    ) -> Reader: ...
    def read_ranges(
        self,
        sql: str | None,
        params: Any,
        options: dict[str, Any],
        *,
        batch_rows: int,
        guid: str,
        datetimeoffset: str,
        datetime2_7: str,
    ) -> Reader: ...
    def forecast(self, table: str, data: Any, options: dict[str, Any]) -> dict[str, Any]: ...
    def forget_load(self, load_id: str, ledger_schema: str) -> bool: ...
    def load(
        self,
        table: str,
        data: Any,
        options: dict[str, Any],
        on_progress: Callable[[int, int, int, int], None] | None,
    ) -> LoadReport: ...
    def upsert(
        self,
        table: str,
        data: Any,
        keys: list[str],
        options: dict[str, Any],
        on_progress: Callable[[int, int, int, int], None] | None,
    ) -> tuple[int, int, LoadReport]: ...

@final
class Execution:
    """What statements did.

    Attributes:
        rows_affected: rows that they counted, all together.
        messages: messages of the server: PRINT, warnings.
    """

    @property
    def rows_affected(self) -> int: ...
    @property
    def messages(self) -> list[ServerMessage]: ...

@final
class LoadReport:
    """What a load did, and where its time went. The phases overlap, so their sum may exceed `seconds`.

    Attributes:
        table: the target.
        rows: rows committed (loaded, inside a transaction of the caller's); the server's count agrees.
        batches: batches.
        bytes: bytes written to the socket.
        seconds: wall-clock time.
        read_seconds: waiting for the data.
        encode_seconds: casting, checking and encoding.
        send_seconds: writing to the socket.
        wait_seconds: waiting for the server's answers.
        client_cpu_seconds: CPU time of the load's own threads, `None` if the platform does not provide it.
        rows_per_second: `rows` by `seconds`.
        warnings: messages that the server sent along.
        plan: every choice of the plan: (setting, value, reason).
        inserted: rows that a stage brought and the table did not have; `None` for a load into the table itself.
        updated: rows of the table that were changed by their key.
        unchanged: existing rows that stay unchanged.
        published_by: how rows came from the stage into the table: "switch", "rename" or "merge".
        writers: connections that loaded.
        retries: number of repeated tries.
        rows_committed_before: rows that an earlier run of the same load had committed.
        limited_by: what kept the load from being faster; `None` for `upsert`, and where nothing was left to load.
    """

    @property
    def table(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def batches(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def read_seconds(self) -> float: ...
    @property
    def encode_seconds(self) -> float: ...
    @property
    def send_seconds(self) -> float: ...
    @property
    def wait_seconds(self) -> float: ...
    @property
    def client_cpu_seconds(self) -> float | None: ...
    @property
    def rows_per_second(self) -> float: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def plan(self) -> list[tuple[str, str, str]]: ...
    @property
    def inserted(self) -> int | None: ...
    @property
    def updated(self) -> int | None: ...
    @property
    def unchanged(self) -> int | None: ...
    @property
    def writers(self) -> int: ...
    @property
    def retries(self) -> int: ...
    @property
    def rows_committed_before(self) -> int: ...
    @property
    def limited_by(self) -> str | None: ...
    @property
    def published_by(self) -> str | None: ...
    def _repr_html_(self) -> str: ...

@type_check_only
class RecordBatch:
    """A record batch with the Arrow PyCapsule interface; hand it to pyarrow, Polars, pandas, …."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Reader:
    """The rows of a query, as a stream of record batches. The connection is busy until it is read to its end or closed."""

    @property
    def schema(self) -> Any:
        """The columns: an object with `__arrow_c_schema__`."""
    @property
    def column_names(self) -> list[str]: ...
    @property
    def plan(self) -> str | None:
        """The plan of a read over several connections, each choice with its reason; `None` for a read over this one."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __iter__(self) -> Reader: ...
    def __next__(self) -> RecordBatch: ...
    def to_arrow(self) -> Any:
        """Read the rest into a `pyarrow.Table`."""
    def to_polars(self) -> Any:
        """Read the rest into a `polars.DataFrame`."""
    def to_pandas(self, **options: Any) -> Any:
        """Read the rest into a `pandas.DataFrame`; keywords go to `pyarrow.Table.to_pandas`."""
    def close(self) -> None:
        """Stop reading: the query is cancelled and the connection is free again."""
    def __enter__(self) -> Reader: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Server:
    @staticmethod
    def start(
        *,
        data: str | os.PathLike[str] | None,
        address: str,
        port: int,
        user: str,
        password: str,
        encryption: str,
        sync: bool,
        discard: bool,
        log_requests: bool,
        max_connections: int | None,
        memory_limit: int | None,
        restore: list[tuple[str, str]],
        init: list[str | os.PathLike[str]],
        bulk_directories: list[str | os.PathLike[str]],
        keytab: str | os.PathLike[str] | None,
        spn: str | None,
        trusted_principals: list[str],
        entra_key: str | os.PathLike[str] | None,
        entra_issuer: str | None,
        entra_audiences: list[str],
        entra_sign_in_url: str | None,
        entra_principals: list[str],
        faults: str | os.PathLike[str] | None,
        metrics_port: int | None,
    ) -> Server: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def metrics_port(self) -> int | None: ...
    @property
    def certificate_pem(self) -> str | None: ...
    def stop(self) -> None: ...

@final
class CopyReport:
    """What was copied of one table, file or query.

    Attributes:
        source: the source.
        destination: the destination.
        rows_read: rows that were read.
        rows: rows that were written.
        rejected: rows that were refused.
        rows_committed_before: rows that an earlier run had committed.
        bytes: bytes that were written, `None` where the destination does not count them.
        writers: connections that wrote.
        actions: what rows did to the table, where each says so itself: counts of "inserted", "updated", "deleted", "unchanged",
            "missing" and "skipped".
        seconds: wall-clock time.
        created_by: the statement that made the table, if it was made.
        done_before: an earlier run had copied everything.
        plan: every choice with its reason: (setting, value, reason).
        notes: more about it.
    """

    @property
    def source(self) -> str: ...
    @property
    def destination(self) -> str: ...
    @property
    def rows_read(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def rejected(self) -> int: ...
    @property
    def rows_committed_before(self) -> int: ...
    @property
    def bytes(self) -> int | None: ...
    @property
    def writers(self) -> int: ...
    @property
    def actions(self) -> dict[str, int] | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def created_by(self) -> str | None: ...
    @property
    def done_before(self) -> bool: ...
    @property
    def plan(self) -> list[tuple[str, str, str]]: ...
    @property
    def notes(self) -> list[str]: ...

def _copy_report(fields: dict[str, Any]) -> CopyReport: ...
def _load_report(fields: dict[str, Any]) -> LoadReport: ...
def run_copy(
    ends: tuple[str, str],
    said: tuple[str, list[tuple[str, str]]],
    ran: tuple[bool, str | None],
    on_progress: Callable[[int, int], None] | None,
    function: Callable[[Any], Any] | None,
) -> list[tuple[str, CopyReport | None, BaseException | None, list[str]]]:
    """Run a copy between two ends: each table's name, its report or exception, and notes.

    `said` is the options as an object of JSON, and the lookups; `ran` is whether nothing is copied, and the page about the copy.
    """

def prepare_tasks(
    connection: Connection, table: str, data: Any, options: dict[str, Any], stage_of: tuple[str, bool]
) -> tuple[str, list[str], bool, list[tuple[str, str, str]]]:
    """Check a job and make the stage for its tasks: (stage, its columns, whether the load is done already, choices)."""

def publish_tasks(
    connection: Connection,
    table: str,
    data: Any,
    options: dict[str, Any],
    stage_of: tuple[str, bool],
    tasks: list[tuple[int, int]],
) -> tuple[int, int | None, int | None, int | None, str | None, bool]:
    """Publish the rows of these attempts, each with its number of rows: (rows, inserted, updated, unchanged, way, done before)."""

def partitions(
    connection: Connection,
    sql: str | None,
    table: str | None,
    columns: list[str] | None,
    condition: str | None,
    count: int,
    split_by: str | None,
) -> list[bytes]:
    """Split a table or a query into statements that other processes run by `read_partition`."""

def read_partition(
    connection: Connection, partition: bytes, *, batch_rows: int, guid: str, datetimeoffset: str, datetime2_7: str
) -> Reader:
    """Read one of the `partitions`, over a connection to the same database."""

def run_package_words(words: list[str], on_event: Callable[[str], object] | None) -> str:
    """Run or plan a package with the words behind `bulkwire run`: the report as JSON."""

def run_command(words: list[str]) -> int:
    """Run a command line of `bulkwire`, the program's name first, and return its exit code."""

__version__: str
