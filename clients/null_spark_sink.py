"""A sink of Spark that drops its rows: what Spark itself costs."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage


class NullWriter(DataSourceArrowWriter):
    """Takes Arrow data as the sink that is measured does."""

    def write(self, iterator):
        for _ in iterator:
            pass
        return WriterCommitMessage()


class NullSource(DataSource):
    """The format `null_arrow`."""

    @classmethod
    def name(cls):
        return "null_arrow"

    def writer(self, schema, overwrite):
        return NullWriter()
