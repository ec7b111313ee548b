"""What SQLAlchemy's suite may ask: the features of SQL Server that its dialect knows.

A requirement that is left out stays as the suite has it, which for most means that its tests are skipped.
"""

from __future__ import annotations

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

OFFERED = (
    "autocommit",
    "autoincrement_without_sequence",
    "column_collation_reflection",
    "comment_reflection",
    "comment_reflection_full_unicode",
    "computed_columns",
    "computed_columns_reflect_persisted",
    "computed_columns_stored",
    "computed_columns_virtual",
    "create_or_replace_view",
    "cross_schema_fk_reflection",
    "ctes",
    "ctes_with_update_delete",
    "date_historic",
    "datetime_historic",
    "datetime_literals",
    "datetime_timezone",
    "datetime_timezone_historic",
    "delete_from",
    "except_",
    "expression_server_defaults",
    "fetch_expression",
    "fetch_first",
    "fetch_percent",
    "fetch_ties",
    "fk_constraint_option_reflection_ondelete_noaction",
    "float_or_double_precision_behaves_generically",
    "foreign_key_constraint_name_reflection",
    "foreign_key_constraint_option_reflection_ondelete",
    "foreign_key_constraint_option_reflection_onupdate",
    "has_temp_table",
    "identity_columns",
    "implicit_default_schema",
    "index_reflects_included_columns",
    "indexes_check_column_order",
    "intersect",
    "isolation_level",
    "json_type",
    "mod_operator_as_percent_sign",
    "nvarchar_types",
    "percent_schema_names",
    "precision_numerics_enotation_large",
    "precision_numerics_enotation_small",
    "precision_numerics_many_significant_digits",
    "precision_numerics_retains_significant_digits",
    "reflects_pk_names",
    "savepoints",
    "server_defaults",
    "supports_bitwise_and",
    "supports_bitwise_not",
    "supports_bitwise_or",
    "supports_bitwise_shift",
    "supports_bitwise_xor",
    "table_value_constructor",
    "temp_table_reflection",
    "temporary_tables",
    "unicode_ddl",
    "unique_constraints_reflect_as_index",
    "update_from",
    "views",
    "window_functions",
)
# What the suite takes for granted and SQL Server, or the dialect for it, does not have.
REFUSED = (
    # DateTime is datetime there, which counts in 300ths of a second.
    "datetime_microseconds",
    "unique_constraint_reflection",
)


class SqlServerRequirements(SuiteRequirements):
    """SQL Server's features."""

    def get_isolation_levels(self, config):
        """The levels that the dialect can set."""
        levels = config.db.dialect.get_isolation_level_values(None)
        return {"default": "READ COMMITTED", "supported": levels}


for name in OFFERED:
    setattr(SqlServerRequirements, name, property(lambda _self: exclusions.open()))
for name in REFUSED:
    setattr(SqlServerRequirements, name, property(lambda _self: exclusions.closed()))
