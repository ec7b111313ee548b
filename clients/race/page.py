"""The page (HTML) and the tables (Markdown) of a race."""

from __future__ import annotations

import html
import os
import pathlib
from collections.abc import Iterator

from race.chart import Bar, bars
from race.comparison import (
    CASE_TEXTS,
    CASE_TITLES,
    CLIENT_CPU,
    CLIENT_MEMORY,
    FIGURES,
    SPEED,
    leads,
    losses,
    spread_text,
    unsteady,
)
from race.heat import Case
from race.results import Results, Summary

HEADS = (
    "Client",
    "Version",
    "Rows",
    *(f"{figure.name[0].upper()}{figure.name[1:]}, {figure.unit}" for figure in FIGURES),
    "Client's memory before, MiB",
)
METHOD = (
    "Client and server are processes of their own on one machine and share its cores; a connection over the loopback interface, "
    "without TLS but for the login of clients that insist on it.",
    "Every run has a fresh server. Contestants take turns, and who begins changes from round to round, so that a drift of the machine "
    "meets all. Given is the median; the least and the greatest run are in brackets, and the whiskers of the charts.",
    "The clock starts after the login and after the source was read; clients that take values instead of Arrow get them ready-made. "
    "Exceptions are in the notes. Batches are committed every batch_rows rows, under a table lock where the client can ask for one.",
    "Every load into memory is read back by another client (mssql-python for bulkwire's, bulkwire for the others) and compared value "
    "by value; every read is checked by count and checksum of each column. Loads into the sink are counted only.",
    "CPU time of the client is the process's during the transfer; of the server, its process's during the whole run, login included. "
    "Memory is the largest resident set: the client's holds the source, and the column on the right says how much there was before.",
    "Slow clients move fewer rows; their figures are per row and comparable, their memory is not.",
)
BIAS = (
    "The server is bulkwire's own embedded server, not SQL Server: how much of a client's lead is left depends on what the real server "
    "costs. The sink shows the clients themselves.",
    "The programs of all contestants were written by bulkwire's authors. Each follows its client's documentation and uses its bulk "
    "interface; a specialist may get more out of it.",
    "The table is that of a published experiment with another client. It has no max types, no text beyond ASCII and few NULLs; "
    "bulkwire's encoder was tuned with it, among others (docs/benchmarks.md has the weaker cases).",
    "bulkwire encodes and sends on several threads; on two cores its wall time gains from that, its CPU time does not.",
)


def write(results: Results, source: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes `clients-results.md` and `clients-results.html` into the folder; both name the results' file."""
    folder.mkdir(parents=True, exist_ok=True)
    link = pathlib.PurePath(os.path.relpath(source, folder)).as_posix()
    (folder / "clients-results.md").write_text(markdown(results, link), encoding="utf-8")
    (folder / "clients-results.html").write_text(page(results, link), encoding="utf-8")


def markdown(results: Results, link: str) -> str:
    """The short table for the README, then everything."""
    lines = [
        "# Clients side by side: results",
        "",
        f"Made by `make bench-clients`, {results.started}; [every run]({link}), [charts](clients-results.html), "
        "[method](clients-benchmark.md).",
        "",
        *_items(_circumstances(results)),
        "",
        "## In short",
        "",
        *_table(("Client", "Load, M rows/s", "Client CPU, ns a row", "Read, M rows/s"), _short(results)),
        "",
        "Loads are into the sink. 11 columns, about 105 bytes a row; median of the runs.",
        "",
    ]
    for case in Case:
        summaries = results.summaries(case)
        if summaries:
            lines += [f"## {CASE_TITLES[case]}", "", CASE_TEXTS[case], ""]
            lines += [*_table(HEADS, map(_cells, summaries)), ""]
    for title, found in _lists(results):
        lines += [f"## {title}", "", *_items(found), ""]
    return "\n".join(lines)


def page(results: Results, link: str) -> str:
    """The page: charts, tables and lists, in one file without scripts."""
    body = [
        "<h1>Clients side by side</h1>",
        f'<p>{html.escape(results.started)}; <a href="{html.escape(link)}">every run</a>. bulkwire\'s own are '
        '<span class="mark ours">in colour</span>; whiskers show the least and the greatest run.</p>',
        _list(_circumstances(results)),
    ]
    for case in Case:
        summaries = results.summaries(case)
        if not summaries:
            continue
        body += [f"<h2>{CASE_TITLES[case]}</h2>", f"<p>{html.escape(CASE_TEXTS[case])}</p>"]
        for figure in (SPEED, CLIENT_CPU, CLIENT_MEMORY):
            ranked = sorted(
                summaries, key=lambda one: figure.spread(one).median, reverse=figure.more_is_better
            )  # noqa: B023
            title = f"{figure.name[0].upper()}{figure.name[1:]}, {figure.unit}"
            chart = bars(
                f"{CASE_TITLES[case]}: {title}",
                [
                    Bar(
                        one.contestant.name,
                        figure.spread(one),
                        one.contestant.ours,
                        figure.text(figure.spread(one).median),
                    )
                    for one in ranked
                ],
            )
            better = "more is better" if figure.more_is_better else "less is better"
            body += [f"<h3>{html.escape(title)} <small>({better})</small></h3>", chart]
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(one))}</tr>"
            for one in summaries
        )
        heads = "".join(f"<th>{html.escape(head)}</th>" for head in HEADS)
        body.append(
            f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        )
    for title, found in _lists(results):
        body += [f"<h2>{html.escape(title)}</h2>", _list(found)]
    return PAGE.replace("BODY", "\n".join(body))


def _circumstances(results: Results) -> list[str]:
    machine, settings = results.machine, results.settings
    return [
        f"{machine['processor']}, {machine['memory']}; {machine['system']}; Python {machine['python']}; "
        f"bulkwire {machine['bulkwire']}",
        f"{settings['rounds']} rounds ({settings['slow_rounds']} for slow clients), {settings['rows']:,} rows "
        f"({settings['slow_rows']:,} for slow clients), batches of {settings['batch_rows']:,}, "
        f"{'with' if settings['encrypt'] else 'without'} TLS",
    ]


def _short(results: Results) -> Iterator[tuple[str, ...]]:
    loads = {one.contestant.id: one for one in results.summaries(Case.SINK)}
    reads = {one.contestant.id: one for one in results.summaries(Case.READ)}
    for name in [*loads, *(name for name in reads if name not in loads)]:
        load, read = loads.get(name), reads.get(name)
        contestant = (load or read).contestant
        yield (
            f"**{contestant.name}**" if contestant.ours else contestant.name,
            _median(load, SPEED),
            _median(load, CLIENT_CPU),
            _median(read, SPEED),
        )


def _median(summary: Summary | None, figure) -> str:
    return figure.text(figure.spread(summary).median) if summary else ""


def _cells(summary: Summary) -> tuple[str, ...]:
    before = summary.spread("start_bytes").median / 2**20
    figures = (spread_text(figure, figure.spread(summary)) for figure in FIGURES)
    return (summary.contestant.name, summary.client, f"{summary.rows:,}", *figures, f"{before:,.0f}")


def _lists(results: Results) -> Iterator[tuple[str, list[str]]]:
    notes = [
        f"{one.name} ({one.language}, pinned by {one.pin}): {one.note}"
        for one in results.contestants
        if one.note
    ]
    failures = [
        f"{contestant.name}, {CASE_TITLES[case]}, {'round ' + str(run.round) if run.built else 'not built'}: {_last_line(run.error)}"
        for contestant, case, run in results.failures()
    ]
    found = (
        ("Beside the best other client", leads(results)),
        ("Where bulkwire loses", losses(results) or ["In none of these figures."]),
        ("Failed", failures or ["None."]),
        ("Notes", notes),
        ("Unsteady figures", unsteady(results) or ["None varied by more than a quarter of its median."]),
        ("Method", list(METHOD)),
        ("Bias", list(BIAS)),
    )
    yield from ((title, items) for title, items in found if items)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1][:300]


def _table(heads, rows) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _items(texts) -> list[str]:
    return [f"- {text}" for text in texts]


def _list(texts) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(text)}</li>' for text in texts)}</ul>"


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Clients side by side</title>
<style>
:root { color-scheme: light dark; --ours: #0b6bcb; --other: #a9b4c0; --text: #1c2329; --faint: #5b6670; --line: #d6dce2; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ours: #58a6ff; --other: #56616c; --text: #e2e8ee; --faint: #9aa6b2; --line: #39434d; --page: #14191e; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 960px; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { margin-bottom: .2rem; }
small { font-weight: normal; color: var(--faint); }
a { color: var(--ours); }
svg { width: 100%; height: auto; }
svg text { font: 12.5px system-ui, sans-serif; fill: var(--text); dominant-baseline: central; }
svg text.label { text-anchor: end; }
svg text.label.ours { font-weight: 600; }
svg text.value { fill: var(--faint); }
rect.ours { fill: var(--ours); }
rect.other { fill: var(--other); }
.whisker { stroke: var(--text); stroke-width: 1; fill: none; opacity: .7; }
.mark.ours { color: var(--ours); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12.5px; margin-top: 1rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th { white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
</style>
</head>
<body>
BODY
</body>
</html>
"""
