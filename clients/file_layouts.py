"""Descriptions of host files for the bulk copy functions: many ways in which a column can lie in a file."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import cells

# What bcp_colfmt calls them (sql.h of the ODBC driver): the column's own type, text, UTF-16 text.
OWN, CHARACTER, WIDE = 0, 0x2F, 0xEF
ANY = -10
# Terminators that no cell of the table holds.
TERMINATORS = (b"\t", b"|#|", b"\x1e", b"<end>\n", b"\r\n\r\n")


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a file: host type, bytes of its prefix, length, terminator."""

    kind: int
    prefix: int
    length: int
    terminator: bytes

    def line(self, column: int) -> str:
        """As `odbc_bcp copy` reads it."""
        return f"{self.kind} {self.prefix} {self.length} {self.terminator.hex() or '-'} {column}"

    def __str__(self) -> str:
        kind = {OWN: "own", CHARACTER: "char", WIDE: "nchar"}[self.kind]
        return f"{kind}-{self.prefix}-{self.length}-{self.terminator.hex() or 'none'}"


def _wide(terminator: bytes) -> bytes:
    return terminator.decode("ascii").encode("utf-16-le")


def fields(terminator: bytes) -> list[Field]:
    """The ways in which any column can lie in a file, with this terminator where there is one."""
    return [
        Field(OWN, ANY, ANY, b""),
        Field(OWN, ANY, ANY, terminator),
        Field(OWN, 4, ANY, b""),
        Field(CHARACTER, 0, ANY, terminator),
        Field(CHARACTER, 4, ANY, b""),
        Field(CHARACTER, 4, ANY, terminator),
        Field(WIDE, 0, ANY, _wide(terminator)),
        Field(WIDE, 4, ANY, b""),
        Field(WIDE, 4, ANY, _wide(terminator)),
    ]


def layout(columns: Sequence[cells.Column], seed: int) -> list[Field]:
    """A field for `id` and for every column, drawn by lot."""
    lot = random.Random(seed)
    drawn = [lot.choice(fields(lot.choice(TERMINATORS))) for _ in columns]
    return [lot.choice([Field(OWN, ANY, ANY, b""), Field(CHARACTER, 0, ANY, b";")]), *drawn]


def described(fields_: Sequence[Field]) -> str:
    """The file that `odbc_bcp copy … fields` reads."""
    lines = [field.line(number) for number, field in enumerate(fields_, start=1)]
    return "\n".join([str(len(lines)), *lines]) + "\n"
