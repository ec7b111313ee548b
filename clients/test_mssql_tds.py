"""mssql-tds, Microsoft's Rust client, against the embedded server."""

from __future__ import annotations

import programs

PROGRAM = programs.Program(
    programs.rust,
    arguments=("mssql-tds",),
    checks=(
        "login_plain",
        "login_only_tls",
        "login_full_tls",
        "login_strict",
        "untrusted_certificate",
        "wrong_password",
        "query_every_type",
        "parameters_every_type",
        "parameters_output",
        "prepared_repeatedly",
        "several_results",
        "large_values",
        "pool_reset",
        "error_details",
        "cancel_query",
        "cancel_streaming",
        "query_timeout",
        "transaction_rollback",
        "isolation_levels",
        "savepoint",
        "bulk_every_type",
        "bulk_not_null",
        "bulk_smallmoney_not_null",
        "bulk_in_batches",
        "bulk_large_values",
        "bulk_refused",
        "bulk_rolled_back",
        "cancel_bulk",
        "vectors",
        "vectors_of_half_precision",
        "vectors_as_text",
    ),
    cannot={
        "bulk_smallmoney_not_null": "mssql-tds 0.3 writes the values of a smallmoney NOT NULL column withou",
    },
)


class TestMssqlTds(programs.ProgramTests):
    program = PROGRAM
