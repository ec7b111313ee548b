"""Copies from any source to any destination."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ._bulkwire import CopyReport, run_copy
from ._exceptions import Error

Endpoint: TypeAlias = "str | os.PathLike[str]"


class CopyError(Error):
    """Tables of a copy failed.

    Attributes:
        reports: the reports of the tables that were copied, by name.
        errors: the exceptions of the others, by name; `None` for one that was not begun.
    """

    def __init__(self, text: str, reports: Mapping[str, CopyReport], errors: Mapping[str, BaseException | None]) -> None:
        super().__init__(text)
        self.reports = dict(reports)
        self.errors = dict(errors)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.reports, self.errors), self.__dict__


def copy(
    source: Endpoint,
    destination: Endpoint,
    *,
    query: str | None = None,
    tables: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    jobs: int | None = None,
    fail_fast: bool = False,
    to_schema: str | None = None,
    with_keys: bool = False,
    with_modules: bool = False,
    skip_failing_modules: bool = False,
    mode: Literal["append", "truncate", "replace", "upsert", "insert-new"] | None = None,
    key: str | Sequence[str] = (),
    strategy: Literal["auto", "direct", "heap-then-key", "swap"] | None = None,
    create: Literal["if-missing", "always", "never"] | None = None,
    url: str | None = None,
    format: str | None = None,
    to_format: str | None = None,
    delimiter: str | None = None,
    to_delimiter: str | None = None,
    encoding: str | None = None,
    to_encoding: str | None = None,
    sheet: str | None = None,
    backup_set: int | None = None,
    no_header: bool = False,
    split_rows: int | None = None,
    partition_by: str | None = None,
    readers: int | Literal["auto"] | None = None,
    writers: int | Literal["auto"] | None = None,
    retry_for: int | None = None,
    resume: bool = False,
    load_id: str | None = None,
    map: Mapping[str, str] | None = None,
    select: str | None = None,
    where: str | None = None,
    action: str | None = None,
    transform: str | os.PathLike[str] | Callable[[Any], Any] | None = None,
    lookups: Mapping[str, Endpoint] | None = None,
    collation: str | None = None,
    files: Endpoint | None = None,
    memory_limit: int | str | None = None,
    rejects: Endpoint | None = None,
    max_errors: int | None = None,
    report: Endpoint | None = None,
    dry_run: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> CopyReport | dict[str, CopyReport]:
    """Copy rows from any source to any destination, with the options of `bulkwire copy`.

    Endpoints are `mssql://user@host/database/schema.table`, files, patterns (`in/*.csv`), directories, workbooks
    (`book.xlsx#Sheet`) and other databases. A table that is missing is made from the source's types. Ctrl-C ends the copy: the
    batch under way is rolled back, and a file does not appear.

        >>> import bulkwire
        >>> bulkwire.copy("orders.csv", "mssql://sa@localhost/sales/dbo.orders", mode="replace")  # doctest: +SKIP

    Args:
        source: where rows come from.
        destination: where they go.
        query: copy the result of this query, in place of a table.
        tables: copy the tables whose names fit these patterns: `"sales.*"`.
        exclude: leave out the tables whose names fit.
        jobs: tables that are copied at a time.
        fail_fast: begin no further table after one has failed.
        to_schema: the schema that takes all tables.
        with_keys: between SQL Servers, copy keys, indexes, defaults, checks and foreign keys as well.
        with_modules: from backups and packages, make views, procedures, functions and triggers once all tables have arrived.
        skip_failing_modules: name the modules that the server refuses, and succeed without them.
        mode: what happens to existing rows, as in `Connection.load`.
        key: the key's columns, for "upsert", "insert-new" and `action`.
        strategy: how rows reach the table, as in `Connection.load`.
        create: whether the destination's table is made.
        url: the server that `mssql:schema.table` means.
        format: format of the file that is read; by its suffix otherwise.
        to_format: format of the file that is written.
        delimiter: field delimiter of the file that is read.
        to_delimiter: field delimiter of the file that is written.
        encoding: encoding of the file that is read.
        to_encoding: encoding of the file that is written.
        sheet: the sheet of a workbook.
        backup_set: the number of the backup (from 1) in a file of several.
        no_header: the file that is read has no header line.
        split_rows: fill a directory with files of at most this many rows.
        partition_by: fill a directory with one directory for each value of this column.
        readers: connections that read SQL Server.
        writers: connections that load SQL Server.
        retry_for: seconds for which transient errors are tried again.
        resume: record committed rows, and continue a copy that broke.
        load_id: name of the recorded copy; implies `resume`.
        map: source columns to copy, and their targets.
        select: the columns of the result, in T-SQL: `"id, UPPER(name) AS name"`.
        where: which rows are copied, in T-SQL.
        action: what each row does to a table of SQL Server, in T-SQL: "insert", "update", "upsert", "delete", or NULL or "skip".
            Beside `transform` the name of a column of its result. It needs `key`.
        transform: a whole SELECT over `source` and the lookups, the path of a file with one, or a function: it gets each batch
            (a `pyarrow.RecordBatch` if pyarrow is installed) and returns Arrow data, and first a batch without rows.
        lookups: tables that the query may join, by name.
        collation: the collation of text columns that have none.
        files: the only folder whose files READ_FILE and WRITE_FILE may see.
        memory_limit: bytes that lookups, sorts and groups may hold.
        rejects: write refused rows to this file, a JSON object a line, and copy the others.
        max_errors: rows that may be refused before the copy fails.
        report: write a page about the copy to this file.
        dry_run: plan only.
        on_progress: called with rows sent and rows committed, several times a second.
        **options: any other option of `bulkwire copy`, with underscores: `batch_rows=50_000`, `allow_rounding=True`.

    Returns:
        The report; of several tables, a dictionary of reports by name.

    Raises:
        UsageError: an option is wrong, or an endpoint cannot honour it.
        CopyError: some of several tables failed.
        Error: whatever went wrong with one.
    """
    given = {
        "query": query,
        "tables": tables,
        "exclude": exclude,
        "jobs": jobs,
        "fail_fast": fail_fast,
        "to_schema": to_schema,
        "with_keys": with_keys,
        "with_modules": with_modules,
        "skip_failing_modules": skip_failing_modules,
        "mode": mode,
        "key": key,
        "strategy": strategy,
        "create": create,
        "url": url,
        "format": format,
        "to_format": to_format,
        "delimiter": delimiter,
        "to_delimiter": to_delimiter,
        "encoding": encoding,
        "to_encoding": to_encoding,
        "sheet": sheet,
        "backup_set": backup_set,
        "no_header": no_header,
        "split_rows": split_rows,
        "partition_by": partition_by,
        "readers": readers,
        "writers": writers,
        "retry_for": retry_for,
        "resume": resume,
        "load_id": load_id,
        "map": map,
        "select": select,
        "where": where,
        "action": action,
        "collation": collation,
        "files": files,
        "memory_limit": memory_limit,
        "rejects": rejects,
        "max_errors": max_errors,
        **options,
    }
    function = transform if callable(transform) else None
    if isinstance(transform, os.PathLike):
        given["transform"] = transform
    elif transform is not None:
        given["transform_sql"] = transform if isinstance(transform, str) else "-"
    keys = {name: _value(name, value) for name, value in given.items() if _is_given(value)}
    joined = [(name, os.fspath(endpoint)) for name, endpoint in (lookups or {}).items()]
    results = run_copy(
        (os.fspath(source), os.fspath(destination)),
        (json.dumps(keys, default=operator.index), joined),
        (dry_run, None if report is None else os.fspath(report)),
        on_progress,
        function,
    )
    reports = {name: report for name, report, error, _ in results if report is not None and error is None}
    if not tables:
        for _, _, error, notes in results:
            if error is not None:
                for note in notes:
                    error.add_note(note) if hasattr(error, "add_note") else None
                raise error
        return next(iter(reports.values()))
    errors = {name: error for name, report, error, _ in results if report is None or error is not None}
    if errors:
        text = "; ".join(f"{name}: {error or 'not begun'}" for name, error in errors.items())
        raise CopyError(f"{len(errors)} of {len(results)} tables failed: {text}", reports, errors)
    return reports


# What True says of options that are no switches.
_TRUE = {"create": "always", "table_lock": "on", "by_partition": "on"}


def _is_given(value: Any) -> bool:
    """Whether a keyword says anything."""
    return not (value is None or value is False or value in ((), [], {}))


def _value(name: str, value: Any) -> Any:
    """The value of an option as JSON has it."""
    if value is True:
        return _TRUE.get(name, True)
    if isinstance(value, Mapping):
        return [f"{left}={right}" for left, right in value.items()]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, str) and isinstance(value, Sequence):
        return [str(item) for item in value]
    return value
