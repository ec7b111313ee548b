"""tedious (Node.js) against the embedded server."""

from __future__ import annotations

import pytest

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


@pytest.fixture(scope="module")
def outcomes(server, tls_modes):
    """One run of all checks."""
    outcomes = PROGRAM.run(server, tls_modes("off"))
    assert tuple(outcomes) == PROGRAM.checks
    return outcomes


@pytest.mark.parametrize("check", PROGRAM.checks)
def test_check(outcomes, check):
    programs.judge(PROGRAM, outcomes, check)


@pytest.mark.parametrize("check", [check for check in programs.ENCRYPTION if check not in PROGRAM.cannot])
def test_login_is_encrypted_as_said(server, tls_modes, check):
    programs.assert_encrypted_as_said(PROGRAM, check, server, tls_modes("off"))
