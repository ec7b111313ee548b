"""mssql-tds, Microsoft's Rust client, against the embedded server."""

from __future__ import annotations

import pytest

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
    ),
    cannot={
        "bulk_smallmoney_not_null": "mssql-tds 0.3 writes the values of a smallmoney NOT NULL column withou",
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
