"""What Alembic's suite may ask: the features of SQL Server that its operations know."""

from __future__ import annotations

from alembic.testing.requirements import SuiteRequirements
from sqlalchemy.testing import exclusions

OFFERED = (
    "autoincrement_on_composite_pk",
    "autocommit_isolation",
    "comments",
    "computed_columns",
    "fk_ondelete_is_reflected",
    "fk_onupdate_is_reflected",
    "identity_columns",
    "reflects_fk_options",
    "reflects_pk_names",
)
# RESTRICT is no word of SQL Server's; the dialect reflects neither checks nor unique constraints.
REFUSED = (
    "check_constraint_reflection",
    "fk_ondelete_restrict",
    "fk_onupdate_restrict",
    "unique_constraint_reflection",
)


class SqlServerRequirements(SuiteRequirements):
    """SQL Server's features."""


for name in OFFERED:
    setattr(SqlServerRequirements, name, property(lambda _self: exclusions.open()))
for name in REFUSED:
    setattr(SqlServerRequirements, name, property(lambda _self: exclusions.closed()))
