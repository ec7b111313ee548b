"""The page (HTML) and the tables (Markdown) of a race."""

from __future__ import annotations

import html
import os
import pathlib
import tomllib
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

HERE = pathlib.Path(__file__).resolve().parent
HEADS = (
    "Client",
    "Version",
    "Runs x rows",
    *(f"{figure.name[0].upper()}{figure.name[1:]}, {figure.unit}" for figure in FIGURES),
    "Client's memory before, MiB",
)
METHOD = tomllib.loads((HERE / "method.toml").read_text(encoding="utf-8"))


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
        f"Made by `make bench-clients`, {results.started}; [every run]({link}), "
        "[charts](clients-results.html), "
        "[method](clients-benchmark.md).",
        "",
        *_items(_circumstances(results)),
        "",
        _contents(results),
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
            lines += [*_table((HEADS[0], *HEADS[3:]), map(_figures, summaries)), ""]
    lines += ["## Versions, runs and rows", "", *_items(_versions(results)), ""]
    for title, found in _lists(results):
        # Readers of the tables find the best in them, and the method on its own page.
        if title not in ("Method", "Beside the best other client"):
            lines += [f"## {title}", "", *_items(found), ""]
    return "\n".join(lines)


def _contents(results: Results) -> str:
    """Links to the tables and to what is said of them."""
    titles = [
        *(CASE_TITLES[case] for case in Case if results.summaries(case)),
        "Where bulkwire loses",
        "Notes",
        "Bias",
    ]
    return ", ".join(f"[{title}](#{title.lower().replace(' ', '-')})" for title in titles) + "."


def page(results: Results, link: str) -> str:
    """The page: charts, tables and lists, in one file without scripts."""
    body = [
        "<h1>Clients side by side</h1>",
        f'<p>{html.escape(results.started)}; <a href="{html.escape(link)}">every run</a>. bulkwire\'s '
        "own are "
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
                        one.label,
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
    return (HERE / "page.html").read_text(encoding="utf-8").replace("BODY", "\n".join(body))


def _circumstances(results: Results) -> list[str]:
    machine, settings = results.machine, results.settings
    return [
        f"{machine['processor']}, {machine['memory']}; {machine['system']}; Python {machine['python']}; "
        f"bulkwire {machine['bulkwire']}",
        f"Up to {settings['rounds']} rounds ({settings['slow_rounds']} for slow clients), "
        f"{settings['rows']:,} rows "
        f"({settings['slow_rows']:,} for slow clients), batches of {settings['batch_rows']:,}, "
        f"{'with' if settings['encrypt'] else 'without'} TLS",
    ]


def _short(results: Results) -> Iterator[tuple[str, ...]]:
    loads = {one.contestant.id: one for one in results.summaries(Case.SINK)}
    reads = {one.contestant.id: one for one in results.summaries(Case.READ)}
    for name in [*loads, *(name for name in reads if name not in loads)]:
        load, read = loads.get(name), reads.get(name)
        contestant = (load or read).contestant
        how = [contestant.how[mode] for mode in contestant.modes if mode in contestant.how]
        label = f"{contestant.name} {', '.join(how)}".strip()
        yield (
            f"**{label}**" if contestant.ours else label,
            _median(load, SPEED),
            _median(load, CLIENT_CPU),
            _median(read, SPEED),
        )


def _median(summary: Summary | None, figure) -> str:
    return figure.text(figure.spread(summary).median) if summary else ""


def _cells(summary: Summary) -> tuple[str, ...]:
    label, *figures = _figures(summary)
    return (label, summary.client, _runs(summary), *figures)


def _figures(summary: Summary) -> tuple[str, ...]:
    """What was measured, without what is the same in all cases."""
    before = summary.spread("start_bytes").median / 2**20
    figures = (spread_text(figure, figure.spread(summary)) for figure in FIGURES)
    return (summary.label, *figures, f"{before:,.0f}")


def _runs(summary: Summary) -> str:
    return f"{len(summary.runs)} x {summary.rows:,}"


def _versions(results: Results) -> list[str]:
    """The version of each client, and how often it moved how many rows in all cases."""
    found: dict[str, list[str]] = {}
    for case in Case:
        for summary in results.summaries(case):
            runs = found.setdefault(summary.client, [])
            runs += [_runs(summary)] if _runs(summary) not in runs else []
    return [f"{client}: {', '.join(runs)}" for client, runs in found.items()]


def _lists(results: Results) -> Iterator[tuple[str, list[str]]]:
    notes = [
        f"{one.name} {', '.join(one.how.values())} ({one.language}): {one.note}"
        for one in results.contestants
        if one.note
    ]
    failures = [
        f"{contestant.label(case.mode)}, {CASE_TITLES[case]}, "
        f"{'round ' + str(run.round) if run.built else 'not built'}: {_last_line(run.error)}"
        for contestant, case, run in results.failures()
    ]
    found = (
        ("Beside the best other client", leads(results)),
        ("Where bulkwire loses", losses(results) or ["In none of these figures."]),
        ("Failed", failures or ["None."]),
        ("Notes", notes),
        (
            "Unsteady figures",
            unsteady(results) or ["Of those with several runs none varied by more than a quarter."],
        ),
        ("Method", METHOD["method"]),
        ("Bias", METHOD["bias"]),
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
