"""tiberius (Rust) against the embedded server."""

from __future__ import annotations

import programs

PROGRAM = programs.Program(
    programs.rust,
    arguments=("tiberius",),
    checks=(
        "login_plain",
        "login_only_tls",
        "login_full_tls",
        "login_strict",
        "untrusted_certificate",
        "wrong_password",
        "query_every_type",
        "exact_money",
        "parameters_every_type",
        "prepared_repeatedly",
        "parameters_output",
        "several_results",
        "large_values",
        "pool_reset",
        "error_details",
        "cancel_query",
        "leaving_ends_the_query",
        "command_timeout",
        "transaction_rollback",
        "isolation_levels",
        "savepoint",
        "savepoint_by_request",
        "bulk_every_type",
        "bulk_not_null",
        "bulk_image",
        "empty_xml",
        "bulk_large_values",
        "bulk_refused",
        "bulk_rolled_back",
        "cancel_bulk",
    ),
    cannot={
        "login_strict": "tiberius 0.13 has no TDS 8.0: EncryptionLevel ends at Required",
        "exact_money": "tiberius reads money as f64: its limits lose their last digits",
        "pool_reset": "tiberius has no connection reset: pools of it ask SELECT 1",
        "cancel_query": "cancel_query of tiberius 0.13 stops reading at the end of the cancelle",
        "savepoint_by_request": "save_transaction of tiberius 0.13 counts the savepoint's name in chara",
        "bulk_image": "tiberius 0.13 writes no image values in a bulk load",
        "empty_xml": "tiberius 0.13 writes one terminator too many behind an empty XML value",
        "bulk_large_values": "tiberius 0.13 refuses more than 65535 bytes for a (max) column in a bu",
    },
)


class TestTiberius(programs.ProgramTests):
    program = PROGRAM
