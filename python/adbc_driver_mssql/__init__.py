"""The name under which Polars looks for the driver of `mssql://` URLs: `polars.read_database_uri(query, "mssql://…", engine="adbc")`.

All of it is `bulkwire.adbc`.
"""

from bulkwire.adbc import ENTRYPOINT, driver_path

__all__ = ["ENTRYPOINT", "driver_path"]
