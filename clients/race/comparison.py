"""What the pages say about results: the tables' cells, how far bulkwire leads, and where it loses."""

from __future__ import annotations

import dataclasses

from race.heat import Case
from race.results import Results, Spread, Summary

MEBIBYTE = 2**20


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of a summary, and which is better."""

    name: str
    unit: str
    more_is_better: bool

    def spread(self, summary: Summary) -> Spread:
        """Its spread over the runs, in its unit."""
        match self:
            case Figure(name="speed"):
                return scaled(summary.spread("rows_per_second"), 1e-6)
            case Figure(name="client CPU"):
                return summary.per_row("cpu_seconds")
            case Figure(name="server CPU"):
                return summary.per_row("server_cpu_seconds")
            case Figure(name="client's peak memory"):
                return scaled(summary.spread("peak_bytes"), 1 / MEBIBYTE)
            case _:
                return scaled(summary.spread("server_peak_bytes"), 1 / MEBIBYTE)

    def text(self, number: float) -> str:
        """A number in this figure's unit, as the tables show it."""
        digits = 0 if abs(number) >= 20 else 3 if self is SPEED and abs(number) < 1 else 2
        return f"{number:,.{digits}f}"


SPEED = Figure("speed", "M rows/s", True)
CLIENT_CPU = Figure("client CPU", "ns a row", False)
SERVER_CPU = Figure("server CPU", "ns a row", False)
CLIENT_MEMORY = Figure("client's peak memory", "MiB", False)
SERVER_MEMORY = Figure("server's peak memory", "MiB", False)
FIGURES = (SPEED, CLIENT_CPU, SERVER_CPU, CLIENT_MEMORY, SERVER_MEMORY)
# What bulkwire can lose: the server is the same for all.
CONTESTED = (SPEED, CLIENT_CPU, CLIENT_MEMORY)

CASE_TITLES = {
    Case.SINK: "Loading into a sink",
    Case.MEMORY: "Loading into memory",
    Case.READ: "Reading",
}
CASE_TEXTS = {
    Case.SINK: "The server finds and counts the rows and drops them: the clients, where it costs little.",
    Case.MEMORY: "The server keeps the rows in memory. Another client read them back; every value was right.",
    Case.READ: "All rows out of the server's memory into the form that the client gives its user.",
}


def leads(results: Results) -> list[str]:
    """The best of bulkwire beside the best other client, of every case and figure."""
    found = []
    for case in Case:
        for figure in CONTESTED:
            ours, other = _best(results, case, figure, True), _best(results, case, figure, False)
            if ours is None or other is None:
                continue
            mine, theirs = figure.spread(ours).median, figure.spread(other).median
            ratio = mine / theirs if figure.more_is_better else theirs / mine
            found.append(
                f"{CASE_TITLES[case]}, {figure.name}: {ours.label} {figure.text(mine)} "
                f"{figure.unit}, best other "
                f"{other.label} {figure.text(theirs)}: {ratio:.2f} times as good"
            )
    return found


def losses(results: Results) -> list[str]:
    """Ranks the clients, best first, down to the last of bulkwire's that another one beats."""
    found = []
    for case in Case:
        for figure in CONTESTED:
            ranked = sorted(
                results.summaries(case),
                key=lambda one: figure.spread(one).median,  # noqa: B023
                reverse=figure.more_is_better,
            )
            beaten = [
                place
                for place, one in enumerate(ranked)
                if one.contestant.ours and any(not other.contestant.ours for other in ranked[:place])
            ]
            if beaten:
                names = ", ".join(
                    f"{one.label} {figure.text(figure.spread(one).median)}"
                    for one in ranked[: beaten[-1] + 1]
                )
                found.append(f"{CASE_TITLES[case]}, {figure.name}, {figure.unit}: {names}")
    return found


def unsteady(results: Results) -> list[str]:
    """Contestants whose speed varied by more than a quarter of its median: not to be compared finely."""
    found = []
    for case in Case:
        for summary in results.summaries(case):
            speed = SPEED.spread(summary)
            share = (speed.greatest - speed.least) / speed.median
            if share > 0.25:
                found.append(f"{CASE_TITLES[case]}: {summary.label} by {share:.0%}")
    return found


def scaled(spread: Spread, factor: float) -> Spread:
    """A spread in another unit."""
    return Spread(spread.least * factor, spread.median * factor, spread.greatest * factor)


def spread_text(figure: Figure, spread: Spread) -> str:
    """`median (least-greatest)`."""
    return f"{figure.text(spread.median)} ({figure.text(spread.least)}-{figure.text(spread.greatest)})"


def _best(results: Results, case: Case, figure: Figure, ours: bool) -> Summary | None:
    of_side = [one for one in results.summaries(case) if one.contestant.ours is ours]
    pick = max if figure.more_is_better else min
    return pick(of_side, key=lambda one: figure.spread(one).median, default=None)
