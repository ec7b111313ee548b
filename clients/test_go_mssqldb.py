"""go-mssqldb against the embedded server."""

from __future__ import annotations

import programs

PROGRAM = programs.Program(
    programs.go,
    checks=(
        "login_plain",
        "login_only_tls",
        "login_full_tls",
        "login_strict",
        "untrusted_certificate",
        "wrong_password",
        "missing_database",
        "query_every_type",
        "parameters_every_type",
        "parameters_named",
        "parameters_output",
        "prepared_repeatedly",
        "several_results",
        "column_types",
        "large_values",
        "pool_reset",
        "error_details",
        "error_from_try_catch",
        "cancel_query",
        "cancel_streaming",
        "transaction_rollback",
        "isolation_levels",
        "savepoint",
        "bulk_every_type",
        "bulk_not_null",
        "bulk_large_values",
        "bulk_refused",
        "bulk_rolled_back",
        "cancel_bulk",
        "bulk_strict",
    ),
    cannot={"bulk_strict": "TDS 8.0 for one before 7.2"},
)


class TestGoMssqldb(programs.ProgramTests):
    program = PROGRAM
