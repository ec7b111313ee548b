"""The race, small: every contestant moves a few rows, which are verified; nothing depends on times."""

from __future__ import annotations

import os
import pathlib
import time
import xml.etree.ElementTree

import pytest

import race.__main__
from race import builds, eleven, page
from race.chart import Bar, bars
from race.comparison import SPEED, leads, losses
from race.heat import Case, Failed, Run, Track
from race.registry import Contestant, contestants
from race.results import Results, Spread

ROWS = 2000
PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python"
TAKING_PART = [(contestant, case) for contestant in contestants() for case in Case.of(contestant)]


@pytest.fixture(scope="module")
def track(binaries, tmp_path_factory) -> Track:
    """A track of the tested programs: plain builds, the Python package of this checkout."""
    patch = pytest.MonkeyPatch()
    patch.setattr(builds, "OPTIMISED", False)
    patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(PACKAGE), os.environ.get("PYTHONPATH")))))
    # Smaller than the source, so that there are several batches and a last one that is not full.
    yield Track(binaries, tmp_path_factory.mktemp("race"), batch_rows=700)
    patch.undo()


def ids(value: object) -> str:
    return value.id if isinstance(value, Contestant) else str(value)


@pytest.mark.parametrize(("contestant", "case"), TAKING_PART, ids=ids)
def test_contestant_moves_every_value(track, contestant, case):
    if "race.drivers.bulkwire_python" in contestant.arguments or contestant.id == "bulkwire_adbc":
        built = list((PACKAGE / "bulkwire").glob("_bulkwire*.so"))
        if not built:
            pytest.skip("the Python package is not built yet: make package")
    run = track.run(contestant, case, 1, ROWS)
    assert run.error == ""
    assert run.rows == ROWS
    assert run.client != ""
    assert run.seconds > 0
    assert run.cpu_seconds >= 0
    assert run.peak_bytes >= run.start_bytes >= 0
    assert (run.source == "") == (case is Case.READ)


def test_rows_are_the_same_whatever_the_batch():
    whole = eleven.batch(0, 120)
    assert eleven.batch(50, 70).equals(whole.slice(50))
    whole.validate(full=True)
    assert whole.schema.equals(eleven.SCHEMA)
    assert sum(column.null_count for column in whole.columns) > 0
    assert whole.column("id").null_count == 0


def test_checksum_of_known_values():
    # -1 is 2^64 - 1; 1.0 is 0x3FF0000000000000; "ab" is 97 + 2 * 98.
    import datetime
    import decimal

    import pyarrow

    day = datetime.date(1970, 1, 3)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, 5)
    rows = [
        (7, -1, -1, 1.0, True, day, moment, decimal.Decimal("-0.0001"), "ab", "", None),
        (8, 1, None, None, False, None, None, decimal.Decimal("2.5"), "b", "é", None),
    ]
    columns = [
        pyarrow.array(column, kind)
        for column, kind in zip(zip(*rows, strict=True), eleven.SCHEMA.types, strict=True)
    ]
    given = eleven.checksum(pyarrow.record_batch(columns, names=eleven.SCHEMA.names))
    expected = [
        "2:15",
        "2:0",
        f"1:{2**64 - 1}",
        f"1:{0x3FF0000000000000}",
        "2:1",
        "1:2",
        "1:1000005",
        "2:24999",
        f"2:{97 + 2 * 98 + 98}",
        f"2:{0xC3 + 2 * 0xA9}",
        "0:0",
    ]
    assert given.split(" ") == expected


def test_difference_finds_a_changed_value_a_swap_and_a_missing_row():
    import pyarrow

    source = pyarrow.Table.from_batches([eleven.batch(0, 50)])
    assert eleven.difference(source.take(list(reversed(range(50)))), source) is None
    assert eleven.difference(source.slice(1), source) == "49 rows instead of 50"
    index = source.schema.get_field_index("col_str2")
    swapped = source.column(index).take([1, 0, *range(2, 50)])
    changed = source.set_column(index, "col_str2", swapped)
    assert eleven.difference(changed, source) == "column col_str2 came back with other values"


def test_a_contestant_that_fails_lies_or_does_not_build_is_reported(track, tmp_path, monkeypatch):
    def contestant(name: str, script: str) -> Contestant:
        program = tmp_path / f"{name}.py"
        program.write_text(script)
        monkeypatch.setattr(builds, name, lambda: [*builds.python()[:1], str(program)], raising=False)
        return Contestant(name, name, "Python", ("load",), name, "nothing")

    failing = contestant("failing", "raise SystemExit('it broke')")
    assert "it broke" in track.run(failing, Case.MEMORY, 1, ROWS).error
    silent = contestant("silent", "")
    assert "printed no result" in track.run(silent, Case.SINK, 1, ROWS).error
    figures = '"seconds": 1, "cpu_seconds": 1, "peak_bytes": 1, "start_bytes": 1, "client": "liar 1"'
    liar = contestant("liar", f"print('{{\"rows\": {ROWS}, {figures}}}')")
    assert track.run(liar, Case.MEMORY, 1, ROWS).error == f"the table has 0 rows instead of {ROWS}"
    short = contestant("short", f"print('{{\"rows\": 3, {figures}}}')")
    assert "3 rows instead of" in track.run(short, Case.SINK, 1, ROWS).error

    def missing() -> list[str]:
        raise builds.NotBuilt("no compiler")

    monkeypatch.setattr(builds, "failing", missing)
    run = track.run(failing, Case.MEMORY, 1, ROWS)
    assert (run.error, run.built) == ("no compiler", False)


def test_read_back_finds_what_a_contestant_did_not_load(track):
    ours = next(one for one in contestants() if one.id == "bulkwire_cli")
    with pytest.raises(Failed, match="the table has 0 rows"):
        from race.embedded import started

        with started(track.binaries) as server:
            track._prepare(server, Case.MEMORY, ROWS)
            track._verify(server, ROWS, by_bulkwire=not ours.ours)


def test_registry_refuses_what_is_wrong(tmp_path):
    entry = '[[contestant]]\nid = "a"\nname = "A"\nlanguage = "C"\nbuild = "c"\npin = "x"\nmodes = ["load"]\n'
    (tmp_path / "one.toml").write_text(entry)
    assert [one.id for one in contestants(tmp_path)] == ["a"]
    (tmp_path / "two.toml").write_text(entry)
    with pytest.raises(ValueError, match="registered twice"):
        contestants(tmp_path)
    (tmp_path / "two.toml").write_text(entry.replace('"a"', '"b"').replace("pin", "pinned"))
    with pytest.raises(ValueError, match="two.toml: b: .*pinned"):
        contestants(tmp_path)
    (tmp_path / "two.toml").write_text(entry.replace('"a"', '"b"').replace("load", "fly"))
    with pytest.raises(ValueError, match="modes are some of"):
        contestants(tmp_path)


def test_versions_are_pinned_where_the_registry_says():
    root = PACKAGE.parent
    pins = {one.pin for one in contestants()}
    assert {pin for pin in pins if not (root / pin).is_file()} <= {"the Debian package freetds-bin"}


def results() -> Results:
    """Of three contestants: one of ours, another that is faster, and one that failed."""
    settings = {
        "rounds": 3, "slow_rounds": 2, "rows": 1000, "slow_rows": 100, "batch_rows": 10, "encrypt": False
    }  # fmt: skip
    modes = ("load",)
    field = [
        Contestant("bulkwire_x", "bulkwire <x>", "Rust", modes, "python", "Cargo.lock"),
        Contestant("other", "other", "Go", modes, "go", "go.mod", how={"load": "Copy"}, note="a | note"),
        Contestant("broken", "broken", "C", modes, "c", "nothing"),
    ]
    made = Results.begin(settings, field)
    for number, seconds in enumerate((0.001, 0.002, 0.004), 1):
        cost = {"cpu_seconds": 0.002, "peak_bytes": 2**20, "server_peak_bytes": 2**20, "client": "bulkwire 1"}
        made.runs.append(Run(Case.SINK, "bulkwire_x", number, 1000, seconds=seconds, **cost))
        cost |= {"cpu_seconds": 0.004, "peak_bytes": 2**22, "client": "other 2"}
        made.runs.append(Run(Case.SINK, "other", number, 1000, seconds=0.001, **cost))
    made.runs.append(Run(Case.SINK, "broken", 1, 1000, error="Traceback\nno | luck"))
    return made


def test_results_come_back_from_their_file(tmp_path):
    made = results()
    made.write(tmp_path / "deep" / "results.json")
    assert Results.read(tmp_path / "deep" / "results.json") == made


def test_summaries_leads_and_losses():
    made = results()
    faster, ours = made.summaries(Case.SINK)
    assert (faster.contestant.id, ours.contestant.id) == ("other", "bulkwire_x")
    assert SPEED.spread(ours) == Spread(0.25, 0.5, 1.0)
    assert leads(made) == [
        "Loading into a sink, speed: bulkwire <x> 0.500 M rows/s, best other other Copy 1.00: "
        "0.50 times as good",
        "Loading into a sink, client CPU: bulkwire <x> 2,000 ns a row, best other other Copy 4,000: "
        "2.00 times as good",
        "Loading into a sink, client's peak memory: bulkwire <x> 1.00 MiB, best other other Copy 4.00: "
        "4.00 times as good",
    ]
    assert losses(made) == ["Loading into a sink, speed, M rows/s: other Copy 1.00, bulkwire <x> 0.500"]


def test_pages_show_every_contestant_and_every_failure(tmp_path):
    made = results()
    page.write(made, tmp_path / "results" / "one.json", tmp_path / "docs")
    table = (tmp_path / "docs" / "clients-results.md").read_text()
    assert "| **bulkwire <x>** | 0.500 | 2,000 |  |" in table
    assert "| other Copy | 1.00 (1.00-1.00) |" in table
    assert "- other 2: 3 x 1,000\n" in table
    assert "- broken, Loading into a sink, round 1: no | luck" in table
    assert "(../results/one.json)" in table
    shown = (tmp_path / "docs" / "clients-results.html").read_text()
    for text in ("bulkwire &lt;x&gt;", "broken, Loading into a sink", "prefers-color-scheme: dark", "<svg"):
        assert text in shown
    for text in ("<script", "http:", "https:", "BODY", "<x>"):
        assert text not in shown


def test_a_chart_is_well_formed_and_fits():
    found = [Bar("one & only", Spread(1, 2, 4), True, "2"), Bar("none", Spread(0, 0, 0), False, "0")]
    chart = xml.etree.ElementTree.fromstring(bars("a <title>", found))
    widths = [float(bar.get("width")) for bar in chart.iter("rect")]
    assert widths == [210.0, 1.0]
    assert chart.find("title").text == "a <title>"
    assert bars("empty", []).endswith("</svg>")


def test_rounds_end_in_time_and_leave_out_who_failed(tmp_path):
    class Stub:
        """A track on which every run takes a while, and `broken` fails."""

        def __init__(self) -> None:
            self.turns = []

        def run(self, contestant, case, number, rows):
            time.sleep(0.01)
            self.turns.append((number, contestant.id))
            return Run(case, contestant.id, number, rows, error="no" * (contestant.id == "broken"), seconds=1)

    everyone = ["bulkwire_x", "other", "broken"]
    stub, made = Stub(), results()
    made.runs = []
    made.settings |= {"rounds": 2, "minutes": 1}
    race.__main__.race(stub, made, [Case.SINK], tmp_path / "runs.json")
    assert stub.turns == [(1, name) for name in everyone] + [(2, "other"), (2, "bulkwire_x")]
    assert Results.read(tmp_path / "runs.json").runs == made.runs

    stub, made.runs = Stub(), []
    made.settings |= {"rounds": 9, "minutes": 0.0001}
    race.__main__.race(stub, made, [Case.SINK], tmp_path / "runs.json")
    assert stub.turns == [(1, name) for name in everyone]
