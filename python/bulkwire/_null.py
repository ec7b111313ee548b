"""NULL parameters with a type."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Null:
    """NULL of a SQL type, as a parameter. A plain `None` is sent as `nvarchar(4000)`, which the server converts to most types
    but not to binary ones: `Null("varbinary(max)")`.
    """

    sql_type: str
