"""Checks the links of every page: the file is there, and so is the heading of an anchor. No network is asked.

    python3 scripts/check_links.py            the pages of this repository
    python3 scripts/check_links.py --site DIR the pages of a built site

Addresses of other machines are left alone.
"""

from __future__ import annotations

import argparse
import collections
import html.parser
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(?P<marks>```+|~~~+)[^\n]*\n.*?^(?P=marks)[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
# Within a paragraph, and as many ticks as it began with.
SPAN = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(?P<target>\S+)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6} +(?P<text>.+?)(?: +#+)? *$", re.MULTILINE)
ANCHOR = re.compile(r"<a (?:id|name)=\"(?P<name>[^\"]+)\"")


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\- ]", "", text.lower())
    return text.replace(" ", "-")


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def anchors(text: str) -> set[str]:
    """All anchors of a page of Markdown."""
    prose = FENCE.sub(lambda block: blank(block.group()), text)
    found: set[str] = {name["name"] for name in ANCHOR.finditer(prose)}
    seen: collections.Counter[str] = collections.Counter()
    for heading in HEADING.finditer(prose):
        base = slug(heading["text"])
        found.add(f"{base}-{seen[base]}" if seen[base] else base)
        seen[base] += 1
    return found


def links(text: str) -> list[tuple[int, str]]:
    """The targets of a page's links, with their lines."""
    prose = FENCE.sub(lambda block: blank(block.group()), text)
    prose = SPAN.sub(lambda span: blank(span.group()), prose)
    found = [*LINK.finditer(prose), *REFERENCE.finditer(prose)]
    return [(prose.count("\n", 0, link.start()) + 1, link["target"]) for link in found]


def is_elsewhere(target: str) -> bool:
    return bool(re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE)) or target.startswith("//")


def pages() -> list[pathlib.Path]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


def markdown_offences() -> list[str]:
    """What is wrong with the links of this repository's pages."""
    offences, known = [], {}
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for line, target in links(text):
            if is_elsewhere(target):
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            file = (page.parent / path).resolve() if path else page
            place = f"{page.relative_to(ROOT)}:{line}"
            if not file.exists() or not file.is_relative_to(ROOT):
                offences.append(f"{place}: there is no {target}")
            elif anchor and file.suffix == ".md":
                if file not in known:
                    known[file] = anchors(file.read_text(encoding="utf-8"))
                if anchor not in known[file]:
                    offences.append(f"{place}: {path or page.name} has no heading #{anchor}")
    return offences


def unlisted_pages() -> list[str]:
    """Pages of docs/ that the navigation of the site does not have."""
    settings = (ROOT / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"([a-z-]+\.md)$", settings, re.MULTILINE))
    own = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    return [f"docs/{page} is not in docs/site/mkdocs.yml" for page in sorted(own - listed)]


class Page(html.parser.HTMLParser):
    """The anchors and the links of a page of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[tuple[int, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.anchors |= {name for name in (named.get("id"), named.get("name")) if name}
        for attribute in ("href", "src"):
            target = named.get(attribute)
            if target:
                self.targets.append((self.getpos()[0], target))


def read(file: pathlib.Path) -> Page:
    page = Page()
    page.feed(file.read_text(encoding="utf-8", errors="replace"))
    return page


def site_offences(site: pathlib.Path) -> list[str]:
    """What is wrong with the links of a built site, without the folders that rustdoc and pdoc fill."""
    offences, known = [], {}
    for file in sorted(site.rglob("*.html")):
        # Their pages make anchors by scripts.
        if file.relative_to(site).parts[0] in {"rust", "python-api"}:
            continue
        known.setdefault(file, read(file))
        for line, target in known[file].targets:
            path, _, anchor = urllib.parse.unquote(target.split("?")[0]).partition("#")
            if is_elsewhere(target) or (not path and not anchor):
                continue
            named = (site / path.lstrip("/") if path.startswith("/") else file.parent / path).resolve()
            other = file if not path else named / "index.html" if named.is_dir() else named
            place = f"{file.relative_to(site)}:{line}"
            if not other.is_file():
                offences.append(f"{place}: there is no {target}")
            elif anchor and other.suffix == ".html" and not anchor.startswith("__"):
                known.setdefault(other, read(other))
                if anchor not in known[other].anchors:
                    offences.append(f"{place}: nothing in {path or file.name} is called {anchor}")
    return offences


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=pathlib.Path)
    site = parser.parse_args().site
    offences = site_offences(site.resolve()) if site else markdown_offences() + unlisted_pages()
    print("\n".join(offences) or "links: all lead somewhere")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
