"""tedious (Node.js) against the embedded server."""

from __future__ import annotations

import programs

PROGRAM = programs.Program(
    programs.tedious,
    checks=(
        "login_plain",
        "login_only_tls",
        "login_full_tls",
        "login_strict",
        "untrusted_certificate",
        "wrong_password",
        "query_every_type",
        "parameters_every_type",
        "parameters_of_all_digits",
        "datetimeoffset_keeps_its_offset",
        "parameters_named",
        "parameters_output",
        "prepared_repeatedly",
        "called_procedure",
        "several_results",
        "large_values",
        "connection_reset",
        "error_details",
        "error_from_try_catch",
        "cancel_query",
        "cancel_streaming",
        "query_timeout",
        "transaction_rollback",
        "isolation_levels",
        "savepoint",
        "nested_transaction",
        "bulk_every_type",
        "bulk_not_null",
        "bulk_creates_its_table",
        "bulk_large_values",
        "bulk_refused",
        "bulk_rolled_back",
        "cancel_bulk",
    ),
    cannot={
        "login_only_tls": "all of a connection or nothing of it",
        "parameters_of_all_digits": "more than 15 digits are rounded",
        "datetimeoffset_keeps_its_offset": "drops the offset",
    },
)


class TestTedious(programs.ProgramTests):
    program = PROGRAM
