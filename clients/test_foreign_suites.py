"""Test suites that others wrote for SQL Server, against the embedded server.

Every test of a suite passes, is skipped by the suite, or has a reason in `suites/exclusions.toml`;
a test that stands there and passes is an error, too. `docs/compatibility.md` shows the scores, and
`BULKWIRE_WRITE_PAGES=1` writes it.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
from collections.abc import Iterator

import pytest

import foreign_suites
from conftest import serve
from foreign_suites import RUNS, Run, Score

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "compatibility.md"

# Two processors, and a suite waits for its server half of the time.
RUNS_AT_ONCE = 3


@pytest.fixture(scope="session")
def scores(
    binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Run, concurrent.futures.Future[Score]]]:
    """The outcomes of each run, all of which are under way from the first that is asked for."""

    def one(which: Run) -> Score:
        folder = tmp_path_factory.mktemp("suite")
        with serve(binaries, folder) as server:
            return foreign_suites.run(which, server, folder)

    with concurrent.futures.ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        yield {which: pool.submit(one, which) for which in RUNS}


@pytest.mark.parametrize("which", RUNS, ids=str)
def test_the_suite_passes_but_for_what_is_excluded(
    which: Run, scores: dict[Run, concurrent.futures.Future[Score]]
) -> None:
    score = scores[which].result()
    entries = [entry for entry in foreign_suites.exclusions() if not entry.not_run]

    def excluded(test: str) -> bool:
        return any(entry.covers(which, test) for entry in entries)

    assert len(score.passed) > 50, "the suite ran hardly any test"
    assert sorted(test for test in score.failed if not excluded(test)) == []
    assert sorted(test for test in score.passed if excluded(test)) == [], "excluded, and passes"


def test_no_exclusion_is_left_over(scores: dict[Run, concurrent.futures.Future[Score]]) -> None:
    idle = [
        entry.tests
        for entry in foreign_suites.exclusions()
        if not entry.not_run
        and not any(
            entry.covers(which, test) for which, score in scores.items() for test in score.result().failed
        )
    ]
    assert idle == []


def test_the_page_shows_the_scores(scores: dict[Run, concurrent.futures.Future[Score]]) -> None:
    page = foreign_suites.page({which: score.result() for which, score in scores.items()})
    if os.environ.get("BULKWIRE_WRITE_PAGES"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
