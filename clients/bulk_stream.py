"""Takes apart what a client sent for a bulk load: INSERT BULK, COLMETADATA, rows, end (MS-TDS 2.2.6.1)."""

from __future__ import annotations

import dataclasses
import re

SQL_BATCH, BULK_LOAD, LOGIN7 = 0x01, 0x07, 0x10
COLMETADATA, ROW, DONE = 0x81, 0xD1, 0xFD
HEADER_BYTES = 8
# Bytes of a value of the tokens that have no length (MS-TDS 2.2.5.4.1).
FIXED = {0x30: 1, 0x32: 1, 0x34: 2, 0x38: 4, 0x3A: 4, 0x3B: 4, 0x3C: 8, 0x3D: 8, 0x3E: 8, 0x7A: 4, 0x7F: 8}
# Tokens followed by length; length, precision, scale; scale; nothing. Values have a byte of length.
BYTE_LENGTH, DECIMALS, SCALED, DATE = (
    {0x24, 0x26, 0x68, 0x6D, 0x6E, 0x6F},
    {0x6A, 0x6C},
    {0x29, 0x2A, 0x2B},
    0x28,
)
# Tokens with two bytes of length, the largest of which means (max); those of text have a collation.
SHORT_LENGTH, TEXT_TOKENS = {0xA5, 0xA7, 0xAD, 0xAF, 0xE7, 0xEF}, {0xA7, 0xAF, 0xE7, 0xEF, 0x23, 0x63}
LEGACY, VARIANT, XML = {0x22, 0x23, 0x63}, 0x62, 0xF1
MAX_LENGTH = 0xFFFF
# A name and its declaration in the list of INSERT BULK.
DECLARED = re.compile(r"\[((?:[^]]|]])*)\] (.*?)(?: collate (\S+))?\s*", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of COLMETADATA as it was sent."""

    name: str
    user_type: int
    flags: int
    token: int
    # Length, precision and scale, without the collation.
    size: bytes
    collation: bytes


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A column in the text of INSERT BULK."""

    name: str
    declared_type: str
    collation: str | None


@dataclasses.dataclass(frozen=True)
class BulkLoad:
    """One bulk load: the batch in front of it, and its message."""

    # Up to the list of columns.
    opening: str
    declarations: list[Declaration]
    # Behind the list.
    options: str
    columns: list[Column]
    # Cell by cell, length included.
    rows: list[list[bytes]]
    # What follows the last row.
    end: bytes
    # Sizes of the message's packets, headers included.
    packet_bytes: list[int]


@dataclasses.dataclass(frozen=True)
class Message:
    """A message of one or more packets."""

    kind: int
    payload: bytes
    packet_bytes: list[int]


class Bytes:
    """A reader that fails at the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def take(self, count: int) -> bytes:
        taken = self.data[self.position : self.position + count]
        assert len(taken) == count, f"{count} bytes at {self.position} of {len(self.data)}"
        self.position += count
        return taken

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def peek(self) -> int | None:
        return self.data[self.position] if self.position < len(self.data) else None


def messages(sent: bytes) -> list[Message]:
    """The messages of a connection without encryption, or with an encrypted login only."""
    found: list[Message] = []
    kind, payload, sizes, position = 0, b"", [], 0
    while position < len(sent):
        if sent[position] in range(0x14, 0x18):
            # A TLS record around LOGIN7.
            position += 5 + int.from_bytes(sent[position + 3 : position + 5], "big")
            continue
        kind, status = sent[position], sent[position + 1]
        size = int.from_bytes(sent[position + 2 : position + 4], "big")
        payload += sent[position + HEADER_BYTES : position + size]
        sizes.append(size)
        if status & 1:
            found.append(Message(kind, payload, sizes))
            payload, sizes = b"", []
        position += size
    assert payload == b"", "the last message is not complete"
    return found


def bulk_loads(sent: bytes) -> list[BulkLoad]:
    """The bulk loads of a connection, in order."""
    found, batch = [], ""
    for message in messages(sent):
        if message.kind == SQL_BATCH:
            headers = int.from_bytes(message.payload[:4], "little")
            batch = message.payload[headers:].decode("utf-16-le")
        elif message.kind == BULK_LOAD:
            found.append(_bulk_load(batch, message))
    return found


def _bulk_load(statement: str, message: Message) -> BulkLoad:
    opening, declarations, options = _statement(statement)
    r = Bytes(message.payload)
    assert r.number(1) == COLMETADATA
    columns = [_column(r) for _ in range(r.number(2))]
    rows = []
    while r.peek() == ROW:
        r.take(1)
        rows.append([_cell(r, column) for column in columns])
    end = r.take(len(r.data) - r.position)
    assert end[:1] in (b"", bytes([DONE])), f"{end[:20].hex()} after {len(rows)} rows"
    return BulkLoad(opening, declarations, options, columns, rows, end, message.packet_bytes)


def _statement(text: str) -> tuple[str, list[Declaration], str]:
    """The parts of INSERT BULK; the list ends at its own parenthesis."""
    start = text.index("(")
    depth, end, commas, bracket = 0, start, [start], False
    for end in range(start, len(text)):
        letter = text[end]
        if bracket or letter == "[":
            bracket = letter != "]"
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if depth == 0:
                break
        elif letter == "," and depth == 1:
            commas.append(end)
    parts = [text[a + 1 : b].strip() for a, b in zip(commas, [*commas[1:], end], strict=True)]
    declarations = []
    for part in parts:
        found = DECLARED.fullmatch(part)
        assert found, part
        declarations.append(Declaration(found[1].replace("]]", "]"), found[2], found[3]))
    return text[:start], declarations, text[end + 1 :]


def _column(r: Bytes) -> Column:
    user_type, flags, token = r.number(4), r.number(2), r.number(1)
    collation = b""
    if token in FIXED or token == DATE:
        size = b""
    elif token in BYTE_LENGTH or token in SCALED:
        size = r.take(1)
    elif token in DECIMALS:
        size = r.take(3)
    elif token in SHORT_LENGTH:
        size = r.take(2)
    elif token in LEGACY or token == VARIANT:
        size = r.take(4)
    else:
        assert token == XML, f"type token {token:02x}"
        size = r.take(1)
        assert size == b"\0", "an XML schema collection"
    if token in TEXT_TOKENS:
        collation = r.take(5)
    if token in LEGACY:
        # The name of the table; in a bulk load one part.
        r.take(2 * r.number(2))
    name = r.take(2 * r.number(1)).decode("utf-16-le")
    return Column(name, user_type, flags, token, size, collation)


def _cell(r: Bytes, column: Column) -> bytes:
    start = r.position
    token = column.token
    if token in FIXED:
        r.take(FIXED[token])
    elif token in BYTE_LENGTH or token in DECIMALS or token in SCALED or token == DATE:
        r.take(r.number(1))
    elif token in SHORT_LENGTH and column.size != b"\xff\xff":
        length = r.number(2)
        r.take(0 if length == MAX_LENGTH else length)
    elif token in LEGACY:
        pointer = r.number(1)
        if pointer:
            r.take(pointer + 8)
            r.take(r.number(4))
    elif token == VARIANT:
        r.take(r.number(4))
    elif r.number(8) != 2**64 - 1:
        while length := r.number(4):
            r.take(length)
    return r.data[start : r.position]
