"""Statements as trees, each spelled in several languages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

TSQL, POSTGRES, SQLITE = range(3)
# What may stand in the place of a part of a kind.
SIMPLEST = {
    "condition": ("1 = 1", "1 = 0"),
    "value": ("0", "CAST(NULL AS int)"),
    "word": ("'a'", "CAST(NULL AS varchar(9))"),
    "optional": ("",),
}


class CannotSayError(Exception):
    """A language has no word for a part."""


@dataclasses.dataclass(frozen=True)
class Node:
    """A part of a statement: a template for each language, and the parts in its braces."""

    kind: str
    templates: tuple[str, str, str | None]
    parts: tuple[Node | str, ...] = ()

    def text(self, language: int) -> str:
        """Returns the part in a language; raises `CannotSayError` if the language cannot say it."""
        template = self.templates[language]
        if template is None:
            raise CannotSayError
        parts = (part if isinstance(part, str) else part.text(language) for part in self.parts)
        return template.format(*parts)

    def says(self, language: int) -> bool:
        """Returns true if the language can say it."""
        try:
            self.text(language)
        except CannotSayError:
            return False
        return True

    def __format__(self, _: str) -> str:
        raise TypeError("parts are joined by `same` and `spelled`")


def same(kind: str, template: str, *parts: Node | str) -> Node:
    """Returns what all languages write alike."""
    return Node(kind, (template, template, template), parts)


def spelled(kind: str, tsql: str, postgres: str, sqlite: str | None, *parts: Node | str) -> Node:
    """Returns what each language writes in its own way."""
    return Node(kind, (tsql, postgres, sqlite), parts)


def listed(nodes: list[Node]) -> Node:
    """Returns a list with commas."""
    return same("list", ", ".join("{}" for _ in nodes), *nodes)


def below(node: Node, kind: str) -> Iterator[Node]:
    """Yields the nearest parts of a kind below a node."""
    for part in node.parts:
        if isinstance(part, str):
            continue
        if part.kind == kind:
            yield part
        else:
            yield from below(part, kind)


def smaller(node: Node) -> Iterator[Node]:
    """Yields the trees that one step of simplification gives, those that lose most first."""
    if node.kind in SIMPLEST:
        for text in SIMPLEST[node.kind]:
            if node.templates[TSQL] != text:
                yield same(node.kind, text)
    if node.kind not in ("list", "text"):
        yield from below(node, node.kind)
    for index, part in enumerate(node.parts):
        if isinstance(part, str):
            continue
        for less in smaller(part):
            yield dataclasses.replace(node, parts=(*node.parts[:index], less, *node.parts[index + 1 :]))


def shrunk(node: Node, differs: Callable[[Node], bool], attempts: int = 400) -> Node:
    """Returns the smallest tree found that still differs."""
    found = True
    while found and attempts > 0:
        found = False
        for less in smaller(node):
            if attempts == 0:
                break
            attempts -= 1
            if differs(less):
                node, found = less, True
                break
    return node
