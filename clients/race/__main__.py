"""Runs the race: `python -m race --binaries FOLDER` (docs/clients-benchmark.md). Every run is verified."""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys
import tempfile
import time

from race import builds, page
from race.heat import Case, Run, Track
from race.registry import Contestant, contestants
from race.results import ROOT, Results


def main() -> int:
    given = arguments().parse_args()
    # Ends the server and the contestant, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if given.page_of:
        page.write(Results.read(given.page_of), given.page_of, given.pages)
        return 0
    chosen = [one for one in contestants() if given.only is None or any(map(one.id.startswith, given.only))]
    cases = given.cases or list(Case)
    settings = {
        name: getattr(given, name) for name in ("rounds", "slow_rounds", "rows", "slow_rows", "batch_rows")
    }
    settings |= {"encrypt": given.encrypt, "minutes": given.minutes}
    results = Results.begin(settings, chosen)
    path = given.results / f"clients-{results.started[:16].replace(':', '')}.json"
    with tempfile.TemporaryDirectory(prefix="race-") as folder:
        track = Track(given.binaries.resolve(), pathlib.Path(folder), given.batch_rows, given.encrypt)
        prepare(track, chosen, settings)
        race(track, results, cases, path)
    page.write(results, path, given.pages)
    tell(f"wrote {path}, and clients-results.md and .html in {given.pages}")
    for contestant, case, run in results.failures():
        tell(f"FAILED: {contestant.label(case.mode)}, {case}: {run.error.splitlines()[-1]}")
    return 0


def arguments() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = argparse.ArgumentParser(prog="race", description=__doc__)
    parser.add_argument("--binaries", type=pathlib.Path, help="folder of the built bulkwire programs")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each contestant and case")
    parser.add_argument(
        "--slow-rounds", type=int, default=3, help="the same of those that are registered as slow"
    )
    parser.add_argument("--minutes", type=float, default=11, help="no round is begun that would take longer")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--slow-rows", type=int, default=200_000)
    parser.add_argument(
        "--batch-rows", type=int, default=50_000, help="rows that are committed, or fetched, at once"
    )
    parser.add_argument("--encrypt", action="store_true", help="with TLS")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), help="contestants, or beginnings of their ids"
    )
    parser.add_argument(
        "--cases", type=lambda text: [Case(case) for case in text.split(",")], help="sink,memory,read"
    )
    parser.add_argument(
        "--results", type=pathlib.Path, default=ROOT / "bench" / "results", help="folder for the JSON"
    )
    parser.add_argument("--pages", type=pathlib.Path, default=ROOT / "docs", help="folder for page and table")
    parser.add_argument(
        "--page-of", type=pathlib.Path, metavar="JSON", help="write page and table of these results only"
    )
    return parser


def prepare(track: Track, chosen: list[Contestant], settings: dict) -> None:
    """Sources and builds, before anything is measured."""
    tell("making the source rows")
    sizes = (settings["rows"], settings["slow_rows"])
    for rows in {one.rows(mode, *sizes) for one in chosen for mode in one.modes}:
        track.source(rows)
    for build in sorted({one.build for one in chosen}):
        start = time.monotonic()
        try:
            getattr(builds, build)()
            tell(f"built the contestants of `{build}` ({time.monotonic() - start:.0f} s)")
        except builds.NotBuilt as error:
            tell(f"the contestants of `{build}` cannot be built: {str(error).splitlines()[-1]}")


def race(track: Track, results: Results, cases: list[Case], path: pathlib.Path) -> None:
    """All rounds, written to `path` as they come.

    Who begins changes with the round, which spreads a drift of the machine.
    """
    settings, begun = results.settings, time.monotonic()
    # How long a last run took, with its verification. Who failed in a case is out of it.
    lasted: dict[tuple[str, Case], float] = {}
    out: set[tuple[str, Case]] = set()
    for number in range(1, max(settings["rounds"], settings["slow_rounds"]) + 1):
        start = (number - 1) % max(len(results.contestants), 1)
        turns = [
            (contestant, case)
            for case in cases
            for contestant in results.contestants[start:] + results.contestants[:start]
            if case in Case.of(contestant)
            and number <= settings["slow_rounds" if contestant.slow else "rounds"]
            and (contestant.id, case) not in out
        ]
        expected = sum(lasted.get((contestant.id, case), 0.0) for contestant, case in turns)
        if time.monotonic() - begun + expected > settings["minutes"] * 60:
            tell(f"round {number} would go beyond {settings['minutes']} minutes: no more rounds")
            break
        for contestant, case in turns:
            turn = time.monotonic()
            rows = contestant.rows(case.mode, settings["rows"], settings["slow_rows"])
            run = track.run(contestant, case, number, rows)
            lasted[contestant.id, case] = time.monotonic() - turn
            results.runs.append(run)
            results.write(path)
            if run.error:
                out.add((contestant.id, case))
            tell(f"round {number}, {case}: {contestant.label(case.mode)}: {_outcome(run)}")


def tell(text: str) -> None:
    """A line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _outcome(run: Run) -> str:
    if run.error:
        return f"FAILED: {run.error.splitlines()[-1]}"
    return f"{run.rows_per_second / 1e6:.3f} M rows/s ({run.whole_seconds:.1f} s in all)"


if __name__ == "__main__":
    sys.exit(main())
