"""Compares what the server gives with what a judge gives."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable

from nested.changes import change
from nested.judges import Judged, Postgres, RefusedError, SQLite, is_internal
from nested.queries import Writer
from nested.tables import Tables
from nested.tree import TSQL, CannotSayError, Node, shrunk

# Statements after which there are other tables.
ROUND = 100


@dataclasses.dataclass(frozen=True)
class Case:
    """A statement to be compared; of one that writes, the table it writes and what its OUTPUT is."""

    number: int
    node: Node
    target: str | None = None
    gives_rows: bool = False

    @classmethod
    def by_chance(cls, number: int) -> Case:
        """Returns the statement of a number."""
        writer = Writer(random.Random(number))
        if number % 3 == 0:
            written = change(writer)
            return cls(number, written.node, written.target, written.gives_rows)
        return cls(number, writer.statement())

    def answer(self, engine: Judged | Postgres | SQLite) -> list[object]:
        """Returns what an engine gives: multisets of rows, or lists where there is an order.

        Raises `RefusedError`.
        """
        text = self.node.text(engine.language)
        if self.target is not None:
            return [Counter(rows) for rows in engine.changed(text, self.target, self.gives_rows)]
        rows = engine.rows(text)
        return [rows if self.node.kind == "ordered" else Counter(rows)]


@dataclasses.dataclass
class Tally:
    """Counts of what was compared."""

    # Numbers that statements were made of; SQLite cannot say them all.
    numbers: int = 0
    statements: int = 0
    answers: int = 0
    # Refused by the judge, or more than it says in its time.
    unjudged: int = 0
    differences: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.statements} statements, {self.answers} answers, {self.unjudged} without a judgement, "
            f"{len(self.differences)} differences"
        )


def judgement(case: Case, judge: Postgres | SQLite) -> list[object] | None:
    """Returns what is right, or nothing where the judge does not say."""
    try:
        return case.answer(judge)
    except (CannotSayError, RefusedError):
        return None


def difference(case: Case, wanted: list[object] | None, judged: Judged) -> str | None:
    """Returns what is wrong with the server's answer; without a judgement, only an internal error is."""
    try:
        actual = case.answer(judged)
    except RefusedError as error:
        message = str(error)
        if is_internal(message):
            judged.connect()
        return message if wanted is not None or is_internal(message) else None
    if wanted is None or actual == wanted:
        return None
    shown = []
    for right, given in zip(wanted, actual, strict=True):
        if right == given:
            continue
        if isinstance(right, Counter) and isinstance(given, Counter):
            shown.append(f"missing {dict(right - given)}, too many {dict(given - right)}")
        else:
            shown.append(f"wanted {right}, given {given}")
    return "; ".join(shown)


def shown(
    case: Case, wanted: list[object] | None, judge: Postgres | SQLite, judged: Judged, label: str
) -> str:
    """Returns a difference in words, its statement made as small as can be."""

    # The number of an error, or that rows are wrong.
    kind = (difference(case, wanted, judged) or "")[:5]

    def differs(node: Node) -> bool:
        less = dataclasses.replace(case, node=node)
        right = judgement(less, judge)
        if wanted is None:
            return is_internal(difference(less, None, judged) or "")
        # What is made smaller must not differ for another reason.
        return right is not None and (difference(less, right, judged) or "")[:5] == kind

    node = shrunk(case.node, differs)
    least = dataclasses.replace(case, node=node)
    what = difference(least, judgement(least, judge), judged)
    said = node.text(judge.language) if node.says(judge.language) else ""
    layouts = ", ".join(f"{name} {layout}" for name, layout in judged.tables.layouts.items())
    return f"{case.number} ({label}; {layouts}): {node.text(TSQL)}\n  judge: {said}\n  {what}"


# How many of the statements are also compared with padded tables: of so many, one.
PADDED = {300: 3, 9_000: 10}


def compared(
    judge: Postgres | SQLite, judged: Judged, first: int, goes_on: Callable[[Tally], bool], label: str
) -> Tally:
    """Compares the statements from a number on, round by round, with tables as they are and padded."""
    tally = Tally()
    while goes_on(tally):
        number = first + tally.numbers
        tables = Tables.by_chance(number // ROUND)
        judge.make(tables)
        judged.make(tables)
        cases = [Case.by_chance(number + index) for index in range(ROUND)]
        cases = [case for case in cases if case.node.says(judge.language)]
        tally.numbers += ROUND
        tally.statements += len(cases)
        wanted = [judgement(case, judge) for case in cases]
        tally.unjudged += wanted.count(None)
        for size in (0, *PADDED):
            if size:
                judged.pad(size)
            for case, right in zip(cases, wanted, strict=True):
                if size and case.number % PADDED[size]:
                    continue
                tally.answers += 1
                if difference(case, right, judged):
                    tally.differences.append(shown(case, right, judge, judged, f"{label}, {size} rows"))
    return tally
