"""Showing how far a load is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast

#: Seconds between two lines of the plain display.
PLAIN_PERIOD_SECONDS = 1.0


class Progress(NamedTuple):
    """How far a load is.

    Attributes:
        rows_sent: rows sent.
        rows_committed: rows in batches that are committed.
        batches: batches committed.
        bytes: bytes written to the socket.
    """

    rows_sent: int
    rows_committed: int
    batches: int
    bytes: int


class Display:
    """Progress on standard error: a tqdm bar where tqdm is installed (its notebook form in a notebook), else lines."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._started = self._shown = time.monotonic()
        self._bar = _tqdm(table)

    def __call__(self, progress: Progress) -> None:
        """Show the state."""
        if self._bar is not None:
            self._bar.update(progress.rows_sent - self._bar.n)
            return
        now = time.monotonic()
        if now - self._shown >= PLAIN_PERIOD_SECONDS:
            self._shown = now
            rate = progress.rows_sent / (now - self._started)
            print(f"{self._table}: {progress.rows_sent:,} rows, {rate:,.0f} rows/s", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line."""
        if self._bar is not None:
            self._bar.close()


def _tqdm(table: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(desc=table, unit=" rows", unit_scale=True)


def callback_of(
    on_progress: Callable[[Progress], None] | bool | None, table: str
) -> tuple[Callable[..., None] | None, Display | None]:
    """The function to call with the native fields, and the display to close afterwards."""
    if on_progress is None or on_progress is False:
        return None, None
    display = Display(table) if on_progress is True else None
    show: Callable[[Progress], None] = display or cast("Callable[[Progress], None]", on_progress)

    def call(*fields: int) -> None:
        show(Progress(*fields))

    return call, display
