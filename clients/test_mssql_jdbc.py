"""mssql-jdbc against the embedded server."""

from __future__ import annotations

import pytest

import programs

PROGRAM = programs.Program(
    programs.jdbc,
    checks=(
        "login_plain",
        "login_only_tls",
        "login_full_tls",
        "login_strict",
        "untrusted_certificate",
        "wrong_password",
        "missing_database",
        "pool_reset",
        "query_every_type",
        "parameters_every_type",
        "parameters_datetimeoffset_before_1582",
        "parameters_output",
        "several_results",
        "large_values",
        "streamed_values",
        "warnings",
        "prepared_repeatedly",
        "prepared_at_first_use",
        "prepared_by_sp_prepare",
        "prepared_never",
        "statement_pooling",
        "batch_of_statements",
        "batch_of_parameters",
        "batch_with_an_error",
        "batch_by_bulk_copy",
        "generated_keys",
        "parameter_metadata",
        "result_metadata",
        "cursor_select_method",
        "cursor_prepared",
        "cursor_scrollable",
        "cursor_updatable",
        "metadata_of_the_server",
        "metadata_tables",
        "metadata_columns",
        "metadata_primary_keys",
        "metadata_imported_keys",
        "metadata_indexes",
        "metadata_types",
        "metadata_schemas_and_catalogs",
        "error_details",
        "error_from_try_catch",
        "error_after_a_result",
        "cancel_query",
        "cancel_streaming",
        "query_timeout",
        "transaction_rollback",
        "isolation_levels",
        "savepoint",
        "bulk_every_type",
        "bulk_temporal_types_as_themselves",
        "bulk_time_as_itself",
        "bulk_not_null",
        "bulk_from_a_result",
        "bulk_from_csv",
        "bulk_in_batches",
        "bulk_large_values",
        "bulk_refused",
        "bulk_rolled_back",
        "bulk_source_fails",
        "cancel_bulk",
    ),
    missing={"cursor_updatable": "The column value cannot be updated"},
    cannot={
        "parameters_datetimeoffset_before_1582": "Julian calendar",
        "bulk_time_as_itself": "hundredths of a second",
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
