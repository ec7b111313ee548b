"""The `bulkwire` command that the wheel installs."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import bulkwire
import pytest

COMMAND = pathlib.Path(sys.executable).with_name("bulkwire.exe" if os.name == "nt" else "bulkwire")


def run(*arguments, **options):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False, **options)


def test_it_is_the_same_version():
    assert run("--version").stdout.split() == ["bulkwire", bulkwire.__version__]


def test_it_loads_and_queries(tmp_path, bulkwire_server, bulkwire_db):
    database = bulkwire_db.fetch("SELECT DB_NAME()")[0][0]
    target = {"BULKWIRE_PASSWORD": bulkwire_server.password, "PATH": os.environ.get("PATH", "")}
    url = f"mssql://sa@{bulkwire_server.host}:{bulkwire_server.port}/{database}?TrustServerCertificate=yes"
    (tmp_path / "numbers.csv").write_text("id,name\n1,one\n2,zwei\n", encoding="utf-8")
    loaded = run("load", "--url", url, "dbo.numbers", str(tmp_path / "numbers.csv"), "--create", env=target)
    assert loaded.returncode == 0, loaded.stderr
    assert bulkwire_db.fetch("SELECT id, name FROM dbo.numbers ORDER BY id") == [(1, "one"), (2, "zwei")]
    (tmp_path / "wrong.csv").write_text("id,name\nthree,3\n", encoding="utf-8")
    refused = run("load", "--url", url, "dbo.numbers", str(tmp_path / "wrong.csv"), env=target)
    assert refused.returncode == 1
    assert "three" in refused.stderr


def test_arguments_that_make_no_sense_end_with_2():
    assert run("laod").returncode == 2


def test_the_wizard_is_in_it():
    # Without a companion program to be found.
    served = run("wizard", "--no-open", "--idle-limit", "1", env={"PATH": ""})
    assert served.returncode == 0, served.stderr
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/start/[0-9a-f]{32}\n", served.stdout)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_it_serves_until_a_signal():
    environment = os.environ | {"BULKWIRE_SERVER_PASSWORD": "Secret-1"}
    arguments = [COMMAND, "serve", "--in-memory", "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            line = server.stdout.readline()
            port = int(re.search(r":(\d+)", line.removeprefix("listening on ")).group(1))
            keywords = {"user": "sa", "password": "Secret-1", "trust_server_certificate": True}
            with bulkwire.connect(server="127.0.0.1", port=port, **keywords) as db:
                assert db.fetch("SELECT 1") == [(1,)]
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_named_bcp_is_bcp(tmp_path):
    (tmp_path / "bcp").symlink_to(COMMAND)
    version = subprocess.run([tmp_path / "bcp", "-v"], capture_output=True, text=True, timeout=60, check=False)
    assert version.stdout.startswith("BCP of bulkwire")
