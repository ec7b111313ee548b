"""`bulkwire bench arrow` as a user runs it: the command hands over, and starts an embedded server itself."""

from __future__ import annotations

import json
import os
import subprocess


def test_a_small_experiment(binaries, tmp_path):
    results, page = tmp_path / "arrow.json", tmp_path / "arrow.html"
    small = ["--rows", "1000", "--rounds", "1", "--batch-rows", "500", "--row-by-row", "10"]
    # Neither is the experiment's business.
    environment = {
        **os.environ,
        "BULKWIRE_URL": "mssql://nobody@127.0.0.1:1/none",
        "BULKWIRE_PASSWORD": "none",
    }
    ran = subprocess.run(
        [binaries / "bulkwire", "bench", "arrow", *small, "--output", results, "--report", page],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    measured = json.loads(results.read_text())
    assert measured["embedded_server"]
    assert [(figures["name"], figures["runs"][0]["rows"]) for figures in measured["variants"]] == [
        ("heap, 500 a batch, TABLOCK", 1000),
        ("heap, 500 a batch", 1000),
        ("clustered, 500 a batch, TABLOCK", 1000),
        ("clustered, 500 a batch", 1000),
        ("heap, then key, 500 a batch, TABLOCK", 1000),
        ("heap, then key, 500 a batch", 1000),
        ("heap, 500 a batch, row by row", 10),
    ]
    assert page.read_text().startswith("<!DOCTYPE html>")
