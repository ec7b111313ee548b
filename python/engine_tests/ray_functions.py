"""Functions of Ray's tests, which travel to workers by name."""

from __future__ import annotations

import time

import pyarrow as pa


def named(batch: pa.Table) -> pa.Table:
    """Adds names, slowly."""
    time.sleep(0.2)
    return batch.append_column("name", pa.array([f"n{number}" for number in batch["id"].to_pylist()]))


class Named:
    """The same by an actor."""

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Adds names, slowly."""
        return named(batch)
