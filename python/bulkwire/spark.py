"""Spark's data source `bulkwire`: DataFrames to and from SQL Server, each row once.

    >>> import bulkwire.spark
    >>> spark.dataSource.register(bulkwire.spark.BulkwireDataSource)  # doctest: +SKIP
    >>> frame.write.format("bulkwire").option("table", "dbo.orders").mode("append").save()  # doctest: +SKIP
    >>> spark.read.format("bulkwire").option("table", "dbo.orders").load()  # doctest: +SKIP

docs/spark.md lists the options.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

try:
    import pyarrow as pa
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamArrowWriter,
        EqualNullSafe,
        EqualTo,
        Filter,
        GreaterThan,
        GreaterThanOrEqual,
        In,
        InputPartition,
        IsNotNull,
        IsNull,
        LessThan,
        LessThanOrEqual,
        Not,
        WriterCommitMessage,
    )
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
    from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType
except ImportError as error:
    raise ImportError("bulkwire.spark needs PySpark 4.1 or later and pyarrow: pip install 'bulkwire[spark]'") from error

from ._connection_string import KEYWORDS
from ._exceptions import UsageError
from ._job import Address, Job, TaskReceipt, column_types, flag, names, typed_options
from ._partitions import PARTITIONS, PartitionedRead, quoted

#: Options that say where to connect: keywords of `bulkwire.connect`.
_ADDRESS = {"url": str, **dict.fromkeys(KEYWORDS, str)}

_WRITE = {
    "table": str,
    "mode": str,
    "key": names,
    "strategy": str,
    "truncate": flag,
    "create": flag,
    "create_table_column_types": column_types,
    "keep_identity": flag,
    "table_lock": flag,
    "writers": int,
    "batch_rows": int,
    "retry_for": float,
    "allow_truncate": flag,
    "allow_rounding": flag,
    "replacement": str,
    "nested_as_json": flag,
    "drop_time_zone": flag,
    "empty_as_null": flag,
    "date_order": str,
    "year_cutoff": int,
    "decimal": str,
    "thousands": str,
    "currency": str,
    "percent": str,
    "load_id": str,
    "ledger_schema": str,
    "stale_hours": float,
}

_READ = {
    "table": str,
    "query": str,
    "columns": names,
    "where": str,
    "push_filters": flag,
    "partitions": int,
    "partition_by": str,
    "batch_rows": int,
    "datetimeoffset": str,
    "datetime2_7": str,
}

#: What Spark itself leaves among the options of a stream.
_SPARKS_OWN = {"checkpointlocation", "path"}


class BulkwireDataSource(DataSource):
    """SQL Server's tables as a data source of Spark: batch reads, batch writes, and a sink of streams."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "bulkwire"

    def schema(self) -> StructType:
        """Look the columns up in the database."""
        return spark_schema(_read_of(self.options)[0].schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of these columns."""
        read, pushes = _read_of(self.options)
        return PushingReader(read, schema) if pushes and read.table is not None else BulkwireReader(read, schema)

    def writer(self, schema: StructType, overwrite: bool) -> BulkwireWriter:
        """Return a writer, which has checked the schema and made the stage."""
        return BulkwireWriter(_job_of(self.options, schema, overwrite, is_stream=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> BulkwireStreamWriter:
        """Return a writer of a stream, which has checked the schema and made the stage."""
        return BulkwireStreamWriter(_job_of(self.options, schema, overwrite, is_stream=True))


@dataclass
class BulkwireMessage(WriterCommitMessage):
    """The receipt of a task."""

    receipt: TaskReceipt


class BulkwireWriter(DataSourceArrowWriter):
    """Writes the partitions of a DataFrame; the driver publishes them together."""

    def __init__(self, job: Job) -> None:
        self.job = job
        job.prepare()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BulkwireMessage:
        """Load a partition, in a task."""
        return BulkwireMessage(self.job.load(_in_utc(iterator)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish all partitions, in the driver."""
        self.job.publish(_receipts(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Drop what the tasks have loaded, in the driver."""
        self.job.abandon()


class BulkwireStreamWriter(DataSourceStreamArrowWriter):
    """Writes the micro-batches of a stream, each of them once: the database records their numbers."""

    def __init__(self, job: Job) -> None:
        self.job = job
        job.prepare()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BulkwireMessage:
        """Load a partition, in a task."""
        return BulkwireMessage(self.job.load(_in_utc(iterator)))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish a micro-batch, in the driver, unless it was published before."""
        self.job.publish(_receipts(messages), epoch=batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Leave what the tasks have loaded: the next publication empties the stage."""


class BulkwireReader(DataSourceReader):
    """Reads a table or a query in parts."""

    def __init__(self, read: PartitionedRead, schema: StructType) -> None:
        self.read_plan = read
        # The columns of a schema that the user gave are the only ones that are read.
        read.columns = schema.fieldNames()
        self.arrow_schema = to_arrow_schema(schema, timezone="UTC")

    def partitions(self) -> list[InputPartition]:
        """Split the rows, in the driver."""
        return [InputPartition(part) for part in self.read_plan.split()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a part, in a task."""
        for batch in self.read_plan.batches(partition.value):
            columns = [
                batch.column(name).cast(kind) for name, kind in zip(self.arrow_schema.names, self.arrow_schema.types, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.arrow_schema)


class PushingReader(BulkwireReader):
    """Reads a table whose rows the server filters. Spark refuses a reader with `pushFilters` in a session that has it turned off."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Let the server evaluate what it evaluates as Spark does; Spark gets the other filters back."""
        types = _column_types(self.read_plan)
        conditions, left = [], []
        for item in filters:
            condition, is_exact = condition_of(item, types)
            if condition is not None:
                conditions.append(condition)
            if condition is None or not is_exact:
                left.append(item)
        own = [f"({self.read_plan.condition})"] if self.read_plan.condition else []
        self.read_plan.condition = " AND ".join(own + conditions) or None
        return left


def spark_schema(columns: pa.Schema) -> StructType:
    """Return the columns of a result as Spark has them."""
    return StructType([StructField(field.name, from_arrow_type(_sparks_type(field.type)), field.nullable) for field in columns])


def _sparks_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type that Spark knows for one that it does not know."""
    if pa.types.is_uint8(kind):
        return pa.int16()
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_time(kind):
        # Spark has a type for times, but not by default; a schema of the user's can name it.
        return pa.string()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", _sparks_type(kind.value_type), nullable=False))
    return kind


def _in_utc(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Name the instants of a batch by UTC, and not by the session's time zone: who runs a job must not decide what it stores."""
    for batch in batches:
        schema = pa.schema([field.with_type(_utc_type(field.type)) for field in batch.schema])
        columns = [column.cast(kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _utc_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with UTC in the place of every time zone."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, tz="UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_utc_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(_utc_type(kind.key_type)), kind.item_field.with_type(_utc_type(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_utc_type(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_utc_type(kind.value_type)))
    return kind


def _refuse_variants(schema: StructType) -> None:
    """Refuse columns whose bytes nobody but Spark reads."""
    for field in schema:
        if _has_variant(field.dataType):
            raise UsageError(
                f"the column {field.name} has a VARIANT, which SQL Server does not take: select to_json({field.name}) AS {field.name}"
            )


def _has_variant(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_variant(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _has_variant(kind.elementType)
    if isinstance(kind, MapType):
        return _has_variant(kind.keyType) or _has_variant(kind.valueType)
    return isinstance(kind, VariantType)


def _receipts(messages: list[WriterCommitMessage | None]) -> list[TaskReceipt]:
    return [message.receipt for message in messages if isinstance(message, BulkwireMessage)]


def _address_of(options: Mapping[str, str]) -> tuple[Address, dict[str, str]]:
    """Where to connect, and the options that remain."""
    plain = {name.lower().replace("_", "") for name in _ADDRESS}
    own = {key: text for key, text in options.items() if key.lower().replace("_", "") in plain}
    rest = {key: text for key, text in options.items() if key not in own}
    keywords = typed_options(own, _ADDRESS, "bulkwire")
    return Address(keywords.pop("url", None), **keywords), rest


def _read_of(options: Mapping[str, str]) -> tuple[PartitionedRead, bool]:
    """What is to be read, and whether the server is to evaluate filters."""
    address, rest = _address_of(_aliased(options))
    given = typed_options(rest, _READ, "reading with bulkwire")
    form = {"guid": "text", "datetime2_7": "us"}
    form.update({name: given.pop(name) for name in ("datetimeoffset", "datetime2_7") if name in given})
    if form["datetime2_7"] == "ns":
        raise UsageError("Spark has no nanoseconds: datetime2_7 must be us, cut or text")
    pushes = given.pop("push_filters", False)
    if "where" in given:
        if given.get("table") is None:
            raise UsageError("the option where is for a table; a query has a WHERE of its own")
        given["condition"] = given.pop("where")
    return PartitionedRead(address, form=form, **{"partitions": PARTITIONS, **given}), pushes


def _job_of(options: Mapping[str, str], schema: StructType, overwrite: bool, *, is_stream: bool) -> Job:
    _refuse_variants(schema)
    address, rest = _address_of(_aliased(options))
    if is_stream:
        rest = {key: text for key, text in rest.items() if key.lower() not in _SPARKS_OWN}
    given = typed_options(rest, _WRITE, "writing with bulkwire")
    table = given.pop("table", None)
    if table is None:
        raise UsageError("writing with bulkwire needs the option table")
    empties = given.pop("truncate", False)
    mode = given.pop("mode", None)
    if overwrite:
        if mode not in (None, "replace", "truncate"):
            raise UsageError(f"Spark's mode overwrite does not go with the option mode={mode}, which keeps rows: use append")
        given["mode"] = mode or ("truncate" if empties else "replace")
    else:
        if mode in ("replace", "truncate") or empties:
            raise UsageError("rows are removed by Spark's mode overwrite alone")
        given["mode"] = mode or "append"
    if "create_table_column_types" in given:
        given["types"] = given.pop("create_table_column_types")
        if not given.get("create"):
            raise UsageError("createTableColumnTypes is for create=true")
    named = {name: given.pop(name) for name in ("load_id", "stale_hours") if name in given}
    return Job(address, table, to_arrow_schema(schema, timezone="UTC"), given, is_stream=is_stream, **named)


def _aliased(options: Mapping[str, str]) -> dict[str, str]:
    """The options, with JDBC's word for the table understood."""
    return {("table" if key.lower() == "dbtable" else key): text for key, text in options.items()}


def _column_types(read: PartitionedRead) -> dict[str, str]:
    """The SQL types of a table's columns, by name."""
    sql = (
        "SELECT c.name, t.name FROM sys.all_columns AS c JOIN sys.types AS t ON t.user_type_id = c.system_type_id "
        "WHERE c.object_id = OBJECT_ID(@table)"
    )
    with read.address.connect() as db:
        return dict(db.fetch(sql, {"table": read.table}))


_NUMBERS = {"bit", "tinyint", "smallint", "int", "bigint", "decimal", "numeric", "money", "smallmoney", "real", "float"}
# Spark sees a datetime's milliseconds, and the server compares with its three-hundredths of a second.
_TIMES = {"date", "datetime2", "datetimeoffset"}
_TEXTS = {"char", "varchar", "nchar", "nvarchar"}

_OPERATORS = {GreaterThan: ">", GreaterThanOrEqual: ">=", LessThan: "<", LessThanOrEqual: "<=", EqualTo: "=", EqualNullSafe: "="}


def condition_of(item: Filter, types: Mapping[str, str]) -> tuple[str | None, bool]:
    """Return a filter as T-SQL, and whether it keeps just the rows that Spark's keeps, or more; `None` if it might keep fewer."""
    if isinstance(item, Not):
        condition, is_exact = condition_of(item.child, types)
        is_simple = isinstance(item.child, (EqualTo, In)) and is_exact
        return (f"NOT ({condition})", True) if is_simple and condition is not None else (None, False)
    attribute: tuple[str, ...] = getattr(item, "attribute", ())
    kind = types.get(attribute[0]) if len(attribute) == 1 else None
    if kind is None:
        return None, False
    name = quoted(attribute[0])
    if isinstance(item, (IsNull, IsNotNull)):
        return f"{name} IS {'NOT ' if isinstance(item, IsNotNull) else ''}NULL", True
    if isinstance(item, In):
        literals = [literal(value, kind) for value in item.value]
        if not literals or any(text is None for text in literals):
            return None, False
        return f"{name} IN ({', '.join(text for text in literals if text is not None)})", kind not in _TEXTS
    operator = _OPERATORS.get(type(item))
    text = literal(getattr(item, "value", None), kind)
    if operator is None or text is None or (kind in _TEXTS and operator != "="):
        return None, False
    # A collation takes more texts for equal than Spark does.
    return f"{name} {operator} {text}", kind not in _TEXTS


def literal(value: Any, kind: str) -> str | None:
    """Return a value as T-SQL writes it, if comparing it with a column of this type is what Spark does."""
    if isinstance(value, bool):
        return str(int(value)) if kind == "bit" else None
    if isinstance(value, int):
        return str(value) if kind in _NUMBERS - {"bit"} and abs(value) < 10**38 else None
    if isinstance(value, Decimal):
        return format(value, "f") if kind in _NUMBERS - {"bit", "real", "float"} and value.is_finite() else None
    if isinstance(value, float):
        return f"{value!r}e0" if kind in ("real", "float") and math.isfinite(value) and "e" not in repr(value) else None
    if isinstance(value, datetime):
        return _moment(value, kind)
    if isinstance(value, date):
        return f"CAST('{value.isoformat()}' AS date)" if kind == "date" else None
    if isinstance(value, str):
        return "N'" + value.replace("'", "''") + "'" if kind in _TEXTS else None
    return None


def _moment(value: datetime, kind: str) -> str | None:
    if value.tzinfo is None:
        return f"CAST('{value.isoformat()}' AS datetime2(6))" if kind == "datetime2" else None
    if kind != "datetimeoffset":
        return None
    moment = value.astimezone(timezone.utc).replace(tzinfo=None)
    return f"CAST('{moment.isoformat()}+00:00' AS datetimeoffset(6))"
