"""DB-API connections by URL, as Polars opens them."""

from bulkwire.adbc import connect

__all__ = ["connect"]
