"""The checksum of rows that a client gave as tuples of Python's own values."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow

from race import eleven


def checksum(rows: Iterable[tuple]) -> str:
    """What `eleven.checksum` gives for the same values."""
    columns = zip(*map(tuple, rows), strict=True)
    return eleven.checksum(
        pyarrow.record_batch(
            [pyarrow.array(column, kind) for column, kind in zip(columns, eleven.SCHEMA.types, strict=True)],
            names=eleven.SCHEMA.names,
        )
    )
