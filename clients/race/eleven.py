"""The table that is moved: eight columns of fixed width, three strings, about 105 bytes a row.

One value in fifty is NULL. It is the table of a published experiment with Arrow record batches and ODBC's
bulk copy functions, and has the columns and the kinds of values of `bench/src/eleven_columns.rs`.
"""

from __future__ import annotations

import pathlib

import numpy
import pyarrow
import pyarrow.compute
import pyarrow.ipc

BATCH_ROWS = 50_000
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("id", pyarrow.int32(), nullable=False),
        pyarrow.field("col_int", pyarrow.int32()),
        pyarrow.field("col_bigint", pyarrow.int64()),
        pyarrow.field("col_float", pyarrow.float64()),
        pyarrow.field("col_bit", pyarrow.bool_()),
        pyarrow.field("col_date", pyarrow.date32()),
        pyarrow.field("col_datetime2", pyarrow.timestamp("us")),
        pyarrow.field("col_decimal", pyarrow.decimal128(18, 4)),
        pyarrow.field("col_str1", pyarrow.string()),
        pyarrow.field("col_str2", pyarrow.string()),
        pyarrow.field("col_str3", pyarrow.string()),
    ]
)
SQL_TYPES = (
    "int",
    "int",
    "bigint",
    "float",
    "bit",
    "date",
    "datetime2(6)",
    "decimal(18,4)",
    "nvarchar(100)",
    "varchar(100)",
    "nvarchar(100)",
)


def create_table(name: str) -> str:
    """The statement that makes the table."""
    columns = (
        f"{field.name} {kind} {'NULL' if field.nullable else 'NOT NULL'}"
        for field, kind in zip(SCHEMA, SQL_TYPES, strict=True)
    )
    return f"CREATE TABLE {name} ({', '.join(columns)})"


def write(path: pathlib.Path, rows: int) -> None:
    """Writes the rows as an Arrow IPC file with batches of 50,000."""
    with pyarrow.ipc.new_file(path, SCHEMA) as file:
        for first in range(0, rows, BATCH_ROWS):
            file.write_batch(batch(first, min(BATCH_ROWS, rows - first)))


def batch(first: int, rows: int) -> pyarrow.RecordBatch:
    """Rows `first` and on; a row number always gives the same values."""
    number = numpy.arange(first, first + rows, dtype=numpy.uint64)
    hashes = [_mix(number * numpy.uint64(11) + numpy.uint64(column)) for column in range(len(SCHEMA))]
    null = [None, *(hash_ % numpy.uint64(50) == 0 for hash_ in hashes[1:])]

    def column(index: int, values: numpy.ndarray) -> pyarrow.Array:
        return pyarrow.array(values, SCHEMA.types[index], mask=null[index])

    decimal = (hashes[7] % numpy.uint64(100_000_000_000_000)).astype(numpy.int64)
    moment = (hashes[6] % numpy.uint64(2_000_000_000_000_000)).astype(numpy.int64)
    return pyarrow.record_batch(
        [
            column(0, number.astype(numpy.int32)),
            column(1, (hashes[1] >> numpy.uint64(16)).astype(numpy.uint32).view(numpy.int32)),
            column(2, hashes[2].view(numpy.int64)),
            column(3, (hashes[3] >> numpy.uint64(20)).astype(numpy.float64) / 1024),
            column(4, hashes[4] & numpy.uint64(2) == 2),
            column(5, (hashes[5] % numpy.uint64(20_000)).astype(numpy.int32)),
            column(6, moment),
            _decimals(decimal, null[7]),
            *(
                _words(hashes[index], shortest, null[index])
                for index, shortest in ((8, 12), (9, 20), (10, 12))
            ),
        ],
        schema=SCHEMA,
    )


def checksum(data: pyarrow.Table | pyarrow.RecordBatch) -> str:
    """What a reader prints for these rows: `COUNT:SUM` of each column.

    Columns may have other types than the source's, as clients choose them, if they can be cast without loss.
    """
    return " ".join(
        f"{len(column) - column.null_count}:{_sum(column, field)}"
        for column, field in zip(data.columns, SCHEMA, strict=True)
    )


def difference(read: pyarrow.Table, source: pyarrow.Table) -> str | None:
    """How rows that were read back differ from their source, in whatever order; None if they do not.

    `id` is the row's number.
    """
    if read.num_rows != source.num_rows:
        return f"{read.num_rows} rows instead of {source.num_rows}"
    read = read.rename_columns(SCHEMA.names).cast(SCHEMA)
    ids = read.column("id").to_numpy()
    if not numpy.array_equal(ids, numpy.arange(len(ids))):
        read = read.take(numpy.argsort(ids, kind="stable"))
    for name in SCHEMA.names:
        if not read.column(name).equals(source.column(name)):
            return f"column {name} came back with other values"
    return None


def _sum(column: pyarrow.ChunkedArray | pyarrow.Array, field: pyarrow.Field) -> int:
    values = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    values = values.drop_null()
    kind = field.type
    if pyarrow.types.is_string(kind):
        return _sum_of_bytes(values.cast(pyarrow.large_string()))
    if pyarrow.types.is_decimal(kind):
        # Values of 18 digits have all their bits in the low half of a 128-bit number.
        words = values.cast(kind).buffers()[1] if len(values) else None
        units = numpy.frombuffer(words or b"", numpy.uint64)[::2][values.offset : values.offset + len(values)]
    elif pyarrow.types.is_float64(kind):
        units = values.cast(kind).to_numpy().view(numpy.uint64)
    elif pyarrow.types.is_boolean(kind):
        units = values.cast(kind).cast(pyarrow.uint8()).to_numpy().astype(numpy.uint64)
    else:
        if pyarrow.types.is_date32(kind):
            values = values.cast(kind).cast(pyarrow.int32())
        elif pyarrow.types.is_timestamp(kind):
            values = values.cast(kind).cast(pyarrow.int64())
        units = values.cast(pyarrow.int64()).to_numpy().view(numpy.uint64)
    return int(units.sum(dtype=numpy.uint64))


def _sum_of_bytes(values: pyarrow.LargeStringArray) -> int:
    offsets = numpy.frombuffer(values.buffers()[1], numpy.int64)[
        values.offset : values.offset + len(values) + 1
    ]
    if len(values) == 0 or offsets[-1] == offsets[0]:
        return 0
    text = numpy.frombuffer(values.buffers()[2], numpy.uint8)[offsets[0] : offsets[-1]]
    starts = numpy.repeat(offsets[:-1] - offsets[0], numpy.diff(offsets))
    position = numpy.arange(1, len(text) + 1, dtype=numpy.int64) - starts
    return int((text * position).sum(dtype=numpy.uint64))


def _mix(seed: numpy.ndarray) -> numpy.ndarray:
    """SplitMix64's finaliser: a bijection of 64-bit numbers that looks random."""
    z = seed + numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def _decimals(units: numpy.ndarray, null: numpy.ndarray) -> pyarrow.Array:
    words = numpy.stack([units, units >> 63], axis=1)
    validity = numpy.packbits(~null, bitorder="little").tobytes()
    buffers = [pyarrow.py_buffer(validity), pyarrow.py_buffer(words.tobytes())]
    return pyarrow.Array.from_buffers(SCHEMA.types[7], len(units), buffers)


def _words(hashes: numpy.ndarray, shortest: int, null: numpy.ndarray) -> pyarrow.Array:
    """Lower-case texts of `shortest` to `shortest + 7` letters; empty under a NULL."""
    lengths = numpy.where(
        null, 0, shortest + (hashes >> numpy.uint64(8) & numpy.uint64(7)).astype(numpy.int32)
    )
    state, letters = hashes, []
    for _ in range(shortest + 7):
        state = state * numpy.uint64(6_364_136_223_846_793_005) + numpy.uint64(1_442_695_040_888_963_407)
        letters.append(
            (numpy.uint64(ord("a")) + (state >> numpy.uint64(59)) % numpy.uint64(26)).astype(numpy.uint8)
        )
    used = numpy.arange(shortest + 7) < lengths[:, None]
    offsets = numpy.concatenate(([0], numpy.cumsum(lengths))).astype(numpy.int32)
    validity = numpy.packbits(~null, bitorder="little").tobytes()
    text = numpy.stack(letters, axis=1)[used].tobytes()
    buffers = [pyarrow.py_buffer(part) for part in (validity, offsets.tobytes(), text)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(hashes), buffers)
