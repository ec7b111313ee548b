"""What transactions did, as their clients saw it."""

from __future__ import annotations

import dataclasses
import enum


class Outcome(enum.Enum):
    """What a client knows of its transaction's end."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    # The connection was lost before the answer to COMMIT.
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class Append:
    """A value, never used twice, is put at the end of a list."""

    key: int
    value: int


@dataclasses.dataclass(frozen=True)
class Read:
    """A list as it was read."""

    key: int
    values: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Replace:
    """A list that was read is written with a value more: a client reads, computes and writes."""

    key: int
    before: tuple[int, ...]
    value: int


@dataclasses.dataclass(frozen=True)
class Add:
    """A row of a group is inserted."""

    key: int
    value: int


@dataclasses.dataclass(frozen=True)
class ReadGroup:
    """The rows of a group, in no order: what a predicate finds."""

    key: int
    values: frozenset[int]


Operation = Append | Read | Replace | Add | ReadGroup


@dataclasses.dataclass(frozen=True)
class Transaction:
    """Operations in their order, and how they ended."""

    number: int
    operations: tuple[Operation, ...]
    outcome: Outcome = Outcome.COMMITTED

    def __str__(self) -> str:
        return f"T{self.number} ({self.outcome.value}): {', '.join(map(str, self.operations))}"
