"""Builds the documents as a site: the pages, the help of every command, and what rustdoc and pdoc make.

    python scripts/build_docs.py --programs DIR --site DIR [--rust DIR] [--python DIR]

Needs docs/site/requirements.txt. Links between pages are rewritten where a page gets another name; a link to
another file of the repository takes that file along.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import check_links

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "docs" / "site"
# Pages that get other names than in docs/.
RENAMED = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "docs/index.md": "documents.md",
}
# The crates that other programs may use, and what they are.
CRATES = {
    "bulkwire_load": "the client: connections, loads, exports",
    "formats": "files and record batches",
    "rows": "record batches and rows of TDS",
    "bulkwire_tds": "the protocol, at either end",
}
# Commands whose help other programs print.
HANDED_OVER = {"serve", "bench"}
COMMAND = re.compile(r"^  (?P<name>[a-z][a-z-]*) {2,}\S", re.MULTILINE)


def run(*words: object, **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, **options
    )
    return done.stdout


def site_names() -> dict[pathlib.Path, str]:
    """Each page of the repository, and its name in the site."""
    names = {page: page.name for page in sorted((ROOT / "docs").glob("*.md"))}
    names |= {ROOT / page: name for page, name in RENAMED.items()}
    return names


def title(page: pathlib.Path) -> str:
    return re.search(r"^# (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[1]


def rewritten(page: pathlib.Path, names: dict[pathlib.Path, str], pages: pathlib.Path) -> str:
    """A page whose links lead to where the site has their targets. Other files come along."""
    text = page.read_text(encoding="utf-8")
    # Long enough to be left alone: code.
    hidden = check_links.FENCE.sub(lambda block: check_links.blank(block.group()), text)
    hidden = check_links.SPAN.sub(lambda span: check_links.blank(span.group()), hidden)
    parts, end = [], 0
    for link in check_links.LINK.finditer(hidden):
        target = link["target"]
        path, mark, anchor = target.partition("#")
        if check_links.is_elsewhere(target) or not path:
            continue
        file = (page.parent / urllib.parse.unquote(path)).resolve()
        name = names.get(file)
        if name is None:
            name = f"files/{file.relative_to(ROOT)}"
            (pages / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, pages / name)
        shown = text[link.start("text") : link.end("text")]
        if file.suffix == ".md" and shown == path:
            # In the repository the name of the file is what helps; here it is the title.
            shown = title(file)
        parts += [text[end : link.start("text")], shown, text[link.end("text") : link.start("target")]]
        parts.append(name + mark + anchor)
        end = link.end("target")
    return "".join([*parts, text[end:]])


def help_of(program: pathlib.Path, words: list[str]) -> str:
    # Without the switch that only long help knows, one help is like another.
    asked = [*words, "--help"] if words and words[0] in HANDED_OVER else ["help", *words]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("BULKWIRE_")}
    return run(program, *asked, env={**environment, "COLUMNS": "92", "PATH": str(program.parent)})


def commands(program: pathlib.Path, folder: pathlib.Path) -> None:
    """A page for each verb: its help, and that of its own verbs."""
    folder.mkdir()
    verbs = [verb for verb in COMMAND.findall(help_of(program, [])) if verb != "help"]
    listed = [
        "# Commands\n",
        f"As `{program.name} help` prints it, of version {run(program, '--version').split()[1]}.\n",
        f"```text\n{help_of(program, [])}```\n",
    ]
    links = []
    for verb in verbs:
        if verb == "bcp":
            # It has a command line of its own: bcp's.
            links.append("- [bulkwire bcp](../bcp-compatibility.md)")
            continue
        text = help_of(program, [verb])
        page = [f"# bulkwire {verb}\n", f"```text\n{text}```\n"]
        if verb not in HANDED_OVER and "\nCommands:\n" in text:
            own = text.split("\nCommands:\n")[1].split("\n\n")[0]
            for name in COMMAND.findall(own):
                if name != "help":
                    page += [
                        f"## bulkwire {verb} {name}\n",
                        f"```text\n{help_of(program, [verb, name])}```\n",
                    ]
        (folder / f"{verb}.md").write_text("\n".join(page), encoding="utf-8")
        links.append(f"- [bulkwire {verb}]({verb}.md)")
    listed.append("\n".join(links))
    (folder / "index.md").write_text("\n".join(listed) + "\n", encoding="utf-8")


def api_page(has_rust: bool, has_python: bool) -> str:
    """Where the references are that other programs make. Their files are added to the site that is built."""
    lines = ["# Rust and Python, item by item", ""]
    if has_rust:
        lines += [
            f'- <a href="rust/{crate}/index.html">{crate}</a>: {what}' for crate, what in CRATES.items()
        ]
    if has_python:
        lines.append(
            '- <a href="python-api/bulkwire.html">bulkwire</a>, the Python package; [a tour](python.md)'
        )
    if not has_rust and not has_python:
        lines.append("This build of the site has neither.")
    return "\n".join(lines) + "\n"


def settings(folder: pathlib.Path, pages: pathlib.Path) -> pathlib.Path:
    """The settings with the pages of the commands in the navigation."""
    verbs = sorted(page.stem for page in (pages / "commands").glob("*.md") if page.stem != "index")
    listed = [
        "- Commands:",
        "    - commands/index.md",
        *(f"    - bulkwire {verb}: commands/{verb}.md" for verb in verbs),
    ]
    text = (SETTINGS / "mkdocs.yml").read_text(encoding="utf-8")
    place = re.search(r"^(?P<indent> *)- Commands: .*\n", text, re.MULTILINE)
    nav = "".join(f"{place['indent']}{line}\n" for line in listed)
    file = folder / "mkdocs.yml"
    file.write_text(text[: place.start()] + nav + text[place.end() :], encoding="utf-8")
    return file


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of the built programs")
    parser.add_argument("--site", type=pathlib.Path, required=True, help="folder of the site; replaced")
    parser.add_argument("--rust", type=pathlib.Path, help="what cargo doc has made")
    parser.add_argument("--python", type=pathlib.Path, help="what pdoc has made")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pages = folder / "pages"
        pages.mkdir()
        names = site_names()
        for page, to in names.items():
            (pages / to).write_text(rewritten(page, names, pages), encoding="utf-8")
        shutil.copy(SETTINGS / "site.css", pages)
        commands(arguments.programs.resolve() / "bulkwire", pages / "commands")
        (pages / "api.md").write_text(
            api_page(bool(arguments.rust), bool(arguments.python)), encoding="utf-8"
        )
        shutil.rmtree(site, ignore_errors=True)
        environment = {**os.environ, "BULKWIRE_DOCS_PAGES": str(pages), "BULKWIRE_DOCS_SITE": str(site)}
        # It would advertise its successor on every run.
        environment["NO_MKDOCS_2_WARNING"] = "true"
        words = [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--quiet",
            "--strict",
            "--config-file",
            settings(folder, pages),
        ]
        subprocess.run(words, check=True, env=environment)
    for made, place in ((arguments.rust, "rust"), (arguments.python, "python-api")):
        if made:
            shutil.copytree(made, site / place)
    offences = check_links.site_offences(site)
    print("\n".join(offences) or f"the site is in {site}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
