"""What an upsert did."""

from __future__ import annotations

from dataclasses import dataclass

from ._bulkwire import LoadReport


@dataclass(frozen=True)
class UpsertReport:
    """What an upsert did.

    Attributes:
        inserted: rows whose key was new.
        updated: rows whose key was there already, changed or not.
        staged: how the rows came to the server's temporary table.
    """

    inserted: int
    updated: int
    staged: LoadReport

    def __str__(self) -> str:
        return f"inserted {self.inserted:,}, updated {self.updated:,}; staged for {self.staged}"

    def _repr_html_(self) -> str:
        counts = f"<p>inserted {self.inserted:,}, updated {self.updated:,}; staged:</p>"
        return counts + self.staged._repr_html_()
