"""Connections: load, read, execute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, SupportsIndex, TypeVar

from . import _bulkwire
from ._bulkwire import Execution, LoadReport, Reader
from ._connection_string import connection_string
from ._exceptions import ConfigError, Error, NoTableError, ServerError, UsageError
from ._params import Params, plain
from ._progress import Progress as Progress
from ._progress import callback_of
from ._upsert import UpsertReport

#: What to do with progress: call something, show it (`True`), or nothing.
T = TypeVar("T")
OnProgress = Callable[[Progress], None] | bool | None
#: Whether a table is made.
Create = bool | Literal["if-missing", "always", "never"]


def connect(text: str | None = None, /, **keywords: Any) -> Connection:
    """Connect and log in.

    Args:
        text: a URL (`mssql://user:password@host:port/database?Encrypt=…`) or a keyword string (`Server=…;Database=…`). `${env:NAME}`
            in either stands for an environment variable; a missing password is taken from `BULKWIRE_PASSWORD`.
        **keywords: the same settings one by one, alone or in addition: `server`, `port`, `instance`, `database`, `user`, `password`,
            `password_file`, `password_command`, `password_keyring` (places that have the password), `access_token`,
            `authentication` ("ActiveDirectoryServicePrincipal", "ActiveDirectoryDefault" and the like, with `tenant_id`, `client_id`,
            `client_certificate`, `federated_token_file`, `authority`, `resource`), `trusted_connection` (a Kerberos ticket),
            `server_spn`, `encrypt` ("off", "optional", "mandatory", "strict"), `trust_server_certificate`, `server_certificate`,
            `host_name_in_certificate`, `application_name`, `application_intent`, `workstation_id`, `language`,
            `multi_subnet_failover`, `packet_size_bytes`, `connect_timeout_seconds` (15), `command_timeout_seconds` (600: how long
            the server may be silent); 0 waits without end.

    Raises:
        ConfigError: the settings are wrong.
        ConnectError: the server cannot be reached.
        LoginError: the server refused.
    """
    whole = connection_string(text, keywords)
    if not whole:
        raise ConfigError("connect needs a URL, a keyword string, or at least server=…")
    return Connection(_bulkwire.Connection.open(whole))


class Connection:
    """A connection to a server. It does one thing at a time: a result is read to its end, or closed, before the next request.

    Made by `bulkwire.connect`; as a context manager it closes itself.
    """

    def __init__(self, native: _bulkwire.Connection) -> None:
        self._native = native

    def load(
        self,
        table: str,
        data: Any,
        *,
        batch_rows: int | None = None,
        table_lock: bool | None = None,
        create: Create = False,
        types: Mapping[str, str] | None = None,
        truncate: bool = False,
        mode: str | None = None,
        key: str | Sequence[str] = (),
        strategy: str | None = None,
        columns: Mapping[str, str] | None = None,
        by_position: bool = False,
        keep_identity: bool = False,
        keep_nulls: bool = False,
        check_constraints: bool = False,
        fire_triggers: bool = False,
        order: Sequence[str] = (),
        allow_truncate: bool = False,
        allow_rounding: bool = False,
        replacement: str | None = None,
        nested_as_json: bool = False,
        drop_time_zone: bool = False,
        empty_as_null: bool = False,
        date_order: str | None = None,
        year_cutoff: int | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        currency: str | None = None,
        percent: str | None = None,
        writers: int | Literal["auto"] | None = None,
        retry_for: float | None = None,
        load_id: str | None = None,
        ledger_schema: str = "dbo",
        on_progress: OnProgress = None,
    ) -> LoadReport:
        """Load data into a table. The data streams: only a few record batches are in memory at a time.

        Each batch is a transaction of its own and committed only if the server's row count agrees, unless a transaction is open,
        in which case the load is part of it. Ctrl-C stops the load and rolls the batch under way back.

        Args:
            table: the target, as T-SQL writes it: `dbo.orders`, `[my table]`, `#stage`.
            data: an object with the Arrow PyCapsule interface (pyarrow, Polars, pandas 2.2 and later, DuckDB, ADBC, …), an iterable
                of such objects, or the path of a Parquet, Arrow IPC or CSV file (`.gz` and `.zst` as well).
            batch_rows: rows of a batch; chosen from the rows' size otherwise.
            table_lock: TABLOCK. Without it the choice depends on the table.
            create: "always" or True makes the table, which must not be there; "if-missing" makes it unless it is there, and so does
                True beside a `mode` that removes rows; "never" or False wants it to be there. Text columns get a length that fits the
                data if the data can be read twice (a table, a file), else `nvarchar(max)`. A load that fails drops what it has made.
            types: with `create`, SQL types of some columns: `{"code": "char(3)"}`.
            truncate: empty the table first, once it is known that the data fits its columns; the same as `mode="truncate"`.
            mode: what happens to existing rows. "append" keeps them, "truncate" empties the table first, "replace" changes
                old rows for new ones in one transaction. "upsert" updates rows by `key` and inserts the others; "insert-new" inserts
                the rows whose key is new.
            key: the key's columns, for "upsert" and "insert-new".
            strategy: how rows reach the table: "auto", "direct" (straight into it), "heap-then-key" (through a stage whose indexes are
                built afterwards), or "swap" (through a stage with indexes). A stage takes the table's place when all rows are
                loaded.
            columns: source columns to load, and their targets. All, by name, otherwise.
            by_position: match columns by position instead of by name.
            keep_identity: load the data's values into the identity column.
            keep_nulls: keep NULL where the column has a default.
            check_constraints: check CHECK and FOREIGN KEY constraints, which bulk loads skip.
            fire_triggers: fire INSERT triggers.
            order: columns by which the data is sorted, `"id"` or `"id DESC"`; the server relies on it.
            allow_truncate: cut text and binary values that are too long.
            allow_rounding: round numbers and times that have too many digits.
            replacement: a character to write instead of those that a column's code page does not have.
            nested_as_json: write lists and structs as JSON.
            drop_time_zone: store the local time of zoned timestamps where the column has no offset.
            empty_as_null: empty text is NULL.
            date_order: how text such as 01/02/2024 is read, "mdy" or "dmy" ("ymd": 24/01/02); refused otherwise.
            year_cutoff: the last year that two digits stand for; 2049 beside `date_order`.
            decimal: the mark in front of decimals in text, "," or ".".
            thousands: the mark between groups of digits in text: ",", ".", "'" or "blank".
            currency: the sign or code of the currency that may stand beside numbers in text, and is left out.
            percent: "number" makes 12% in text 12, "fraction" 0.12.
            writers: connections that load at the same time, or "auto" for as many as make the load faster. All of them connect
                as this one did. Several writers exclude a transaction and a temporary table.
            retry_for: seconds for which transient errors are tried again: broken connections, deadlocks, a busy service.
            load_id: a name under which the database records which rows are committed, in the tables `bulkwire_load*`. If the same
                load is called again after it broke, it continues behind the committed rows, and every row is loaded once. Called
                again after its end it loads nothing, unless its file has changed since. Data that differs from what was
                committed is refused.
            ledger_schema: the schema of these tables.
            on_progress: a function that gets a `Progress` about ten times a second, or `True` for a display.

        Returns:
            What was done and where the time went.

        Raises:
            CellError: a value does not fit; the row, column, value and reason are its attributes.
            PlanError: columns do not fit; nothing was sent.
            ServerError: the server refused; earlier batches are committed, as `rows_committed` says.
            InDoubtError: the answer to a commit was lost; `rows_in_doubt` may be in the table or not.
        """
        if truncate and mode not in (None, "truncate"):
            raise UsageError(f"truncate=True is mode='truncate', and not mode={mode!r}")
        if create not in _CREATES:
            raise UsageError(f"create must be one of 'if-missing', 'always' and 'never', not {create!r}")
        if create in (True, "always") and mode in (None, "append") and not truncate and strategy not in (None, "auto", "direct"):
            raise UsageError(f"create={create!r} makes a new table, which needs no stage: leave strategy out")
        numbered = isinstance(writers, int) and not isinstance(writers, bool) and 1 <= writers <= 256
        if writers not in (None, "auto") and not numbered:
            raise UsageError(f"writers must be a number from 1 to 256, or 'auto', not {writers!r}")
        if retry_for is not None and not 0 <= retry_for <= 31_536_000:
            raise UsageError(f"retry_for must be a number of seconds, not {retry_for!r}")
        if load_id is not None and not 1 <= len(load_id) <= 128:
            raise UsageError("load_id must have 1 to 128 characters")
        writers = 0 if writers == "auto" else writers
        options = native_options(locals())
        try:
            return self._shown(table, on_progress, lambda call: self._native.load(table, data, options, call))
        except ServerError as error:
            if error.number == _NAME_TAKEN and options["create"] and hasattr(error, "add_note"):
                error.add_note("create='if-missing' loads into a table that is there already")
            raise
        except NoTableError as error:
            if hasattr(error, "add_note"):
                error.add_note("create=True makes the table of the data's columns")
            raise

    def forecast(
        self,
        table: str,
        data: Any,
        *,
        batch_rows: int | None = None,
        table_lock: bool | None = None,
        truncate: bool = False,
        columns: Mapping[str, str] | None = None,
        by_position: bool = False,
        keep_identity: bool = False,
        keep_nulls: bool = False,
        check_constraints: bool = False,
        fire_triggers: bool = False,
        order: Sequence[str] = (),
        allow_truncate: bool = False,
        allow_rounding: bool = False,
        replacement: str | None = None,
        nested_as_json: bool = False,
        drop_time_zone: bool = False,
        empty_as_null: bool = False,
        date_order: str | None = None,
        year_cutoff: int | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        currency: str | None = None,
        percent: str | None = None,
    ) -> dict[str, Any]:
        """Say what loading data will take: pages, log and time. Nothing is loaded into the table.

        The data is read to its end. Some rows of it are loaded into a temporary table like the target, which is dropped again, to
        measure the time.

        Args:
            table, data: as for `load`; the table must exist.
            truncate: as if the table were emptied first.
            batch_rows, table_lock, columns, by_position, keep_identity, keep_nulls, check_constraints, fire_triggers, order,
            allow_truncate, allow_rounding, replacement, nested_as_json, drop_time_zone, empty_as_null, date_order, year_cutoff,
            decimal, thousands, currency, percent: as for `load`.

        Returns:
            A dictionary. `structures` has a dictionary for the table and for each index: `name`, `kind`, `compression`, `rows`,
            `pages`, `bytes`. Beside it: `rows`, `pages`, `bytes`, `log_bytes`, `recovery_model`, `minimally_logged`, `seconds` over
            this connection, `measured` ("probe", or "reading" if the server refuses a temporary table), `sample_rows` from which
            the sizes come, `rows_unfit`, and `notes`, what was taken for granted.

        Raises:
            PlanError: columns do not fit.
            Error: a view, a temporary table or a columnstore has no forecast.
        """
        options = native_options(locals())
        return self._native.forecast(table, data, options)

    def upsert(
        self,
        table: str,
        data: Any,
        *,
        keys: Sequence[str],
        batch_rows: int | None = None,
        keep_identity: bool = False,
        allow_truncate: bool = False,
        allow_rounding: bool = False,
        replacement: str | None = None,
        nested_as_json: bool = False,
        drop_time_zone: bool = False,
        empty_as_null: bool = False,
        on_progress: OnProgress = None,
    ) -> UpsertReport:
        """Update the rows whose keys are there, insert the others: all of it or nothing.

        The data goes by bulk load into a temporary table, from which one UPDATE and one INSERT take it, in one transaction (the open
        one, if there is one). Columns are matched by name; columns of the table that the data lacks keep their values, or get
        their defaults.

        Args:
            table: the target.
            data: as for `load`.
            keys: the columns that decide whether a row exists. NULL in them is refused, and so is a key that two rows share.
            batch_rows, keep_identity, allow_truncate, allow_rounding, replacement, nested_as_json, drop_time_zone, empty_as_null,
            on_progress: as for `load`.
        """
        if isinstance(keys, str):
            raise UsageError(f"keys must be a sequence of column names, such as [{keys!r}]")
        options = native_options(locals())
        native = self._native
        done = self._shown(table, on_progress, lambda call: native.upsert(table, data, list(keys), options, call))
        return UpsertReport(*done)

    def read(
        self,
        sql: str | None = None,
        params: Params = None,
        *,
        table: str | None = None,
        readers: int | str = 1,
        split_by: str | None = None,
        consistent: str | None = None,
        gentle: bool = False,
        batch_rows: int = 65_536,
        guid: str = "bytes",
        datetimeoffset: str = "utc",
        datetime2_7: str = "ns",
    ) -> Reader:
        """Run a query and stream its rows as Arrow record batches.

        The reader can be handed to anything that takes `__arrow_c_stream__`, iterated batch by batch, or read whole with its
        `to_arrow()`, `to_polars()` and `to_pandas()`. The rows are decoded while they are consumed; nothing is read far ahead.

        Args:
            sql: one query. A second result set is an error, since it would be lost.
            params: parameters.
            table: read this table instead of a query.
            readers: number of new connections to read over (1 to 64), or "auto" for as many as make it faster. The rows come in ranges
                of the table's clustered key, in its order; the reader's `plan` says how they are split. This connection is free
                meanwhile.
            split_by: the column that splits the rows. A query needs one; it must be a query that may stand in FROM.
            consistent: "snapshot" (SNAPSHOT transactions that begin together) or "lock" (a shared lock until the end), so that all
                rows are of one point in time.
            gentle: short statements, no transaction over two of them, first victim of a deadlock.
            batch_rows: rows of a record batch.
            guid: `uniqueidentifier` as "bytes" (16 of them, in the order in which the text is written) or "text".
            datetimeoffset: as "utc" (a timestamp in UTC: the instant is kept, the offset is not) or "text".
            datetime2_7: seven fractional digits as "ns" (1677 to 2262; other dates are refused), "us" (a seventh digit other than 0 is
                refused), "cut" (as "us", and the seventh digit is cut off) or "text".
        """
        given = plain(params)
        if (sql is None) == (table is None):
            raise UsageError("read takes a query, or table=…")
        check_batch_rows(batch_rows)
        form: dict[str, Any] = {
            "batch_rows": batch_rows,
            "guid": guid,
            "datetimeoffset": datetimeoffset,
            "datetime2_7": datetime2_7,
        }
        if sql is not None and str(readers) == "1" and split_by is None and consistent is None and not gentle:
            return self._native.read(sql, given, **form)
        options = {"table": table, "readers": str(readers), "split_by": split_by, "consistent": consistent, "gentle": gentle}
        return self._native.read_ranges(sql, given, options, **form)

    def execute(self, sql: str, params: Params = None) -> Execution:
        """Run statements and skip the rows that they return; see `read` and `fetch` for those.

        Without parameters `sql` is a batch; with parameters it is run by `sp_executesql`.
        """
        return self._native.execute(sql, plain(params))

    def fetch(self, sql: str, params: Params = None) -> list[tuple[Any, ...]]:
        """Run a query with a small result and return its rows as tuples of Python values.

        Decimals, dates, times, aware datetimes (`datetimeoffset`) and UUIDs come as such. Raises `UsageError` if the query returns
        several result sets.
        """
        results = self._native.fetch(sql, plain(params))
        if len(results) > 1:
            raise UsageError(f"the query returns {len(results)} result sets; fetch one at a time")
        return results[0][1] if results else []

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Begin a transaction; commit at the end of the block, roll back on an exception.

        `InDoubtError` at the end of the block: the answer to the commit was lost, and it is not known whether it was done.

        Some errors make the server roll the transaction back: a deadlock, a conversion that fails, any error under `XACT_ABORT`. If
        the block catches such an error and goes on, every further request, and the end of the block, raise `TransactionEndedError`:
        nothing that follows is done by itself. The same holds if a statement of the block ends the transaction.

        Transactions do not nest: in an open one this raises `UsageError`, since the end of an inner block would end the outer one
        too. `SAVE TRANSACTION name` and `ROLLBACK TRANSACTION name` undo a part of it.

        Example:
            with db.transaction():
                db.execute("DELETE FROM dbo.orders WHERE day = @day", {"day": day})
                db.load("dbo.orders", frame)
        """
        self._native.check_transaction()
        if self._native.in_transaction:
            raise UsageError(
                "a transaction is open already, and they do not nest: leave the inner block out, or use SAVE TRANSACTION and "
                "ROLLBACK TRANSACTION with a name"
            )
        try:
            self._native.begin()
            yield self
            self._native.commit()
        except BaseException:
            if not self.closed:
                # The error of the block matters more than that of its rollback. What is committed stays.
                with suppress(Error):
                    self._native.rollback()
            raise

    def cursor(self) -> Any:
        """Raise `UsageError`: this is no DB-API connection; `bulkwire.adbc.connect` makes one."""
        raise UsageError(
            "a bulkwire.Connection has no cursors: db.read(sql).to_polars() or .to_pandas() reads here, and "
            "bulkwire.adbc.connect(url) makes a DB-API connection for pandas.read_sql, polars.read_database and the like"
        )

    def forget_load(self, load_id: str, *, ledger_schema: str = "dbo") -> bool:
        """Forget a recorded load: it can no longer be continued, and its stage is dropped. Rows in its table stay.

        Args:
            load_id: its name, as `load` was given it.
            ledger_schema: the schema of the ledger's tables.

        Returns:
            False if there is no such load.
        """
        return self._native.forget_load(load_id, ledger_schema)

    def cancel(self) -> None:
        """Interrupt, from another thread, the request under way; its caller gets `CancelledError`."""
        self._native.cancel()

    def close(self) -> None:
        """Close the connection; what is uncommitted is rolled back."""
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether the connection was closed."""
        return self._native.closed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._native.in_transaction

    @property
    def server(self) -> str:
        """What the server calls itself."""
        return self._native.server

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<bulkwire.Connection {self._native.address}{state}>"

    def _shown(self, table: str, on_progress: OnProgress, work: Callable[[Any], T]) -> T:
        call, display = callback_of(on_progress, table)
        try:
            return work(call)
        finally:
            if display is not None:
                display.close()


def check_batch_rows(rows: object) -> None:
    """Refuse a number of rows that makes no batch."""
    if rows is not None and not (isinstance(rows, SupportsIndex) and rows.__index__() > 0):
        raise UsageError(f"batch_rows must be a whole number of rows from 1, not {rows!r}")


def native_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The native options: every one of them, from the keywords that a method has."""
    check_batch_rows(given.get("batch_rows"))
    order = [_order(item) for item in given.get("order", ())]
    pairs = {name: list((given.get(name) or {}).items()) for name in ("types", "columns")}
    plain = {name: given.get(name) for name in _PLAIN}
    key = given.get("key") or ()
    flags = {name: bool(given.get(name)) for name in _FLAGS}
    schema = given.get("ledger_schema") or "dbo"
    keys = [key] if isinstance(key, str) else list(key)
    create = _CREATES[given.get("create") or False]
    # For what removes all rows anyway it is no matter that there are some.
    removes = bool(given.get("truncate")) or given.get("mode") in ("truncate", "replace")
    made = {"create": create != "never", "if_missing": create == "if-missing" or (create == "always" and removes)}
    return {**plain, **flags, **pairs, **made, "order": order, "key": keys, "ledger_schema": schema}


#: What `create` says, in the words of `bulkwire.copy`.
_CREATES: dict[object, str] = {
    False: "never",
    True: "always",
    "if-missing": "if-missing",
    "always": "always",
    "never": "never",
}

#: "There is already an object named ...".
_NAME_TAKEN = 2714

_PLAIN = (
    "batch_rows",
    "table_lock",
    "replacement",
    "date_order",
    "year_cutoff",
    "decimal",
    "thousands",
    "currency",
    "percent",
    "mode",
    "strategy",
    "writers",
    "retry_for",
    "load_id",
)

_FLAGS = (
    "truncate",
    "by_position",
    "keep_identity",
    "keep_nulls",
    "check_constraints",
    "fire_triggers",
    "allow_truncate",
    "allow_rounding",
    "nested_as_json",
    "drop_time_zone",
    "empty_as_null",
)


def _order(item: str) -> tuple[str, bool]:
    name, _, direction = item.rpartition(" ")
    if name and direction.upper() in ("ASC", "DESC"):
        return name.strip(), direction.upper() == "DESC"
    return item, False
