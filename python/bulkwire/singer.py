"""A Singer target, for Meltano and whatever else runs taps: messages on standard input become rows of SQL Server.

    tap-github --config tap.json | target-bulkwire --config target.json

docs/pipelines.md lists the settings.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError("bulkwire.singer needs pyarrow: pip install pyarrow") from error

from ._connection import Connection
from ._exceptions import UsageError
from ._job import PATIENCE, Address
from ._made_tables import make_table
from ._partitions import quoted

#: What the settings of a target may be, beside the keywords of `bulkwire.connect`.
_DEFAULTS: dict[str, Any] = {"url": None, "schema": "dbo", "batch_rows": 100_000, "retry_for": PATIENCE}
_FORMATS = {"date-time": "timestamp", "date": "date", "time": "time"}
_TYPES = {"integer": "bigint", "number": "double", "boolean": "bool", "string": "text"}
_ARROW = {"bigint": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}


class Stream:
    """A table, and the rows that wait for it."""

    def __init__(self, name: str, message: Mapping[str, Any], schema: str) -> None:
        self.schema = schema
        self.table = f"{quoted(schema)}.{quoted(name)}"
        self.columns = {column: _hints(kind) for column, kind in message["schema"].get("properties", {}).items()}
        self.key: list[str] = list(message.get("key_properties") or ())
        absent = [column for column in self.key if column not in self.columns]
        if absent:
            raise UsageError(f"the key of {name} has {absent[0]!r}, which its schema lacks")
        self.rows: list[Mapping[str, Any]] = []

    def flush(self, db: Connection, retry_for: float) -> None:
        """Load the rows that wait."""
        make_table(db, self.schema, self.table, self.columns, self.key)
        rows = self.rows
        if self.key:
            # Of several records with one key the last one counts.
            rows = list({tuple(str(row.get(column)) for column in self.key): row for row in rows}.values())
        kinds = {column: hints["data_type"] for column, hints in self.columns.items()}
        arrays = {column: _array([row.get(column) for row in rows], kind) for column, kind in kinds.items()}
        mode = "upsert" if self.key else "append"
        db.load(self.table, pa.table(arrays), mode=mode, key=self.key, retry_for=retry_for)
        self.rows = []


def run(messages: Iterable[str], states: TextIO, settings: Mapping[str, Any]) -> None:
    """Load what the messages bring, and write each state once its rows are committed."""
    given = {**_DEFAULTS, **settings}
    own = {name: given.pop(name) for name in _DEFAULTS}
    with Address(own["url"], **given).connect() as db:
        for state in _loaded(messages, db, own):
            states.write(json.dumps(state) + "\n")
            states.flush()


def _loaded(messages: Iterable[str], db: Connection, own: Mapping[str, Any]) -> Iterator[Any]:
    """The states whose rows are committed."""
    streams: dict[str, Stream] = {}
    state: Any = None

    def flush() -> None:
        for stream in streams.values():
            if stream.rows:
                stream.flush(db, own["retry_for"])

    for line in filter(str.strip, messages):
        message = json.loads(line)
        kind, name = message.get("type"), message.get("stream", "")
        if kind == "SCHEMA":
            if name in streams and streams[name].rows:
                streams[name].flush(db, own["retry_for"])
            streams[name] = Stream(name, message, own["schema"])
        elif kind == "RECORD":
            if name not in streams:
                raise UsageError(f"a record of {name!r} comes before its schema")
            streams[name].rows.append(message["record"])
            if sum(len(stream.rows) for stream in streams.values()) >= own["batch_rows"]:
                flush()
                if state is not None:
                    yield state
                    state = None
        elif kind == "STATE":
            state = message["value"]
        elif kind != "ACTIVATE_VERSION":
            raise UsageError(f"bulkwire knows no messages of type {kind!r}")
    flush()
    if state is not None:
        yield state


def _hints(kind: Mapping[str, Any]) -> dict[str, Any]:
    """A column's type, in the words of `make_table`."""
    options = [kind, *kind.get("anyOf", ()), *kind.get("oneOf", ())]
    words = [word for option in options for word in _listed(option.get("type"))]
    formats = [_FORMATS[option["format"]] for option in options if option.get("format") in _FORMATS]
    known = [word for word in words if word != "null"]
    if len(set(known)) != 1 or known[0] not in _TYPES:
        # Objects, arrays, and what may be of several types.
        integral = set(known) == {"integer", "number"}
        return {"data_type": "double" if integral else "json"}
    if known[0] == "string" and formats:
        return {"data_type": formats[0]}
    lengths = [option["maxLength"] for option in options if option.get("maxLength")]
    return {"data_type": _TYPES[known[0]], "precision": lengths[0] if known[0] == "string" and lengths else None}


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _array(values: list[Any], kind: str) -> pa.Array:
    """A column; moments and dates stay text, which the load converts."""
    if kind == "json":
        values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(values, _ARROW.get(kind, pa.string()))


def main() -> None:
    """Run the target on standard input."""
    parser = argparse.ArgumentParser(prog="target-bulkwire", description="A Singer target for SQL Server.")
    parser.add_argument("--config", type=pathlib.Path, required=True, help="settings, a JSON object")
    settings = json.loads(parser.parse_args().config.read_text(encoding="utf-8"))
    run(sys.stdin, sys.stdout, settings)


if __name__ == "__main__":
    main()
