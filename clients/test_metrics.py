"""The server's metrics, read by Prometheus's parser, by promtool, and by a Prometheus."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

import conftest

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "serve.md"
PROMTOOL = "/usr/bin/promtool"
PROMETHEUS = "/usr/bin/prometheus"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


@pytest.fixture(scope="module")
def watched(binaries, tmp_path_factory) -> Iterator[tuple[conftest.Endpoint, str]]:
    """A server that has done a little of everything, and where its metrics are."""
    port = free_port()
    with conftest.serve(
        binaries, tmp_path_factory.mktemp("server"), "optional", "--metrics-port", str(port)
    ) as server:
        server.bulkwire("query", 'CREATE DATABASE [a "b" \\c]; CREATE TABLE t (id int); SELECT 1 / 0')
        server.bulkwire("load", "t", "-", "--format", "csv", stdin="id\n1\n2\n")
        server.bulkwire("query", "SELECT * FROM t", "--param", "x=1")
        yield server, f"http://127.0.0.1:{port}"


def test_the_page_is_what_prometheus_reads(watched):
    _, address = watched
    families = {family.name: family for family in text_string_to_metric_families(get(f"{address}/metrics"))}
    assert families["bulkwire_rows_loaded"].samples[0].value == 2
    databases = {sample.labels["database"] for sample in families["bulkwire_locks_held"].samples}
    assert databases >= {"master", 'a "b" \\c'}
    duration = families["bulkwire_request_duration_seconds"]
    assert duration.type == "histogram"
    calls = {
        sample.name.removeprefix("bulkwire_request_duration_seconds_"): sample.value
        for sample in duration.samples
        if sample.labels["kind"] == "call" and sample.labels.get("le", "+Inf") == "+Inf"
    }
    assert calls["bucket"] == calls["count"] >= 1
    assert calls["sum"] > 0
    for family in families.values():
        assert family.documentation, family.name
        assert family.samples, family.name


def test_promtool_finds_nothing_wrong(watched, tmp_path):
    _, address = watched
    page = get(f"{address}/metrics")
    done = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=page, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def rules() -> str:
    return re.search(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]


@contextlib.contextmanager
def prometheus(folder: pathlib.Path, target: str) -> Iterator[str]:
    """A Prometheus that asks for the metrics every second, and has the rules of the page."""
    (folder / "rules.yml").write_text(rules())
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        "rule_files: [rules.yml]\n"
        f"scrape_configs: [{{job_name: bulkwire, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    address = f"127.0.0.1:{free_port()}"
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            [
                PROMETHEUS,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_the_rules_of_the_page_work(watched, tmp_path):
    server, address = watched
    (tmp_path / "rules.yml").write_text(rules())
    checked = subprocess.run(
        [PROMTOOL, "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    expressions = re.findall(r"^ +expr: (.*)$", rules(), re.MULTILINE)
    with prometheus(tmp_path, address.removeprefix("http://")) as asked:

        def query(expression: str) -> list:
            text = get(f"{asked}/api/v1/query?query={urllib.parse.quote(expression)}")
            return json.loads(text)["data"]["result"]

        until = time.monotonic() + 120
        found = {}
        # A rate needs two scrapes with something between them.
        while time.monotonic() < until and len(found) < 3:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                server.bulkwire("query", "SELECT COUNT(*) FROM t; INSERT INTO t VALUES (3)")
                for record in ("request_seconds:p99", "cache_hit_ratio", "log_bytes_per_second"):
                    if query(f"bulkwire:{record}"):
                        found[record] = True
            time.sleep(1)
        assert len(found) == 3, found
        assert query("up == 1")
        assert query("bulkwire_ready")[0]["value"][1] == "1"
        for expression in expressions:
            query(expression)
        states = json.loads(get(f"{asked}/api/v1/rules"))["data"]["groups"][0]["rules"]
        assert {rule["health"] for rule in states} == {"ok"}, states
        assert [rule["name"] for rule in states if rule.get("state") == "firing"] == []


def test_the_page_names_every_metric(watched):
    _, address = watched
    text = PAGE.read_text(encoding="utf-8").split("## Watch it")[1].split("## Read on")[0]
    named = set(re.findall(r"`([a-z_]+)(?:\{[a-z, ]+\})?`", text))
    there = {
        line.split()[2].removeprefix("bulkwire_")
        for line in get(f"{address}/metrics").splitlines()
        if line.startswith("# TYPE ")
    }
    assert there - named == set()
