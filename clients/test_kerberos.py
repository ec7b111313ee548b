"""Kerberos: bulkwire's and other people's clients sign in with tickets of a real KDC."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import select
import shlex
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import kerberos_realm
import pytest
from kerberos_realm import REALM, SILENT_REALM, Realm

import programs
from conftest import Endpoint, serve

ANN = f"ann@{REALM}"
ROWS = 1000
RUN_SECONDS = 120


class Place:
    """A realm, and a server with the keys of one of its services."""

    def __init__(self, realm: Realm, server: Endpoint, spn: str) -> None:
        self.realm = realm
        self.server = server
        self.spn = spn

    def url(self, *options: str) -> str:
        options = ("trusted_connection=yes", "TrustServerCertificate=yes", *options)
        return f"mssql://{self.server.host}:{self.server.port}/master?{'&'.join(options)}"

    def bulkwire(self, *arguments: str, url: str | None = None, cache: str = "none", **variables: str):
        return subprocess.run(
            [self.server.binaries / "bulkwire", *arguments],
            env=self.realm.environment(
                cache, BULKWIRE_URL=url or self.url(f"ServerSPN={self.spn}"), **variables
            ),
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )

    def login_name(self, **how: str) -> str:
        ran = self.bulkwire("query", "SELECT SUSER_SNAME() + ' ' + ORIGINAL_LOGIN()", "-o", "csv", **how)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()[-1]

    def refusal(self, **how: str) -> str:
        ran = self.bulkwire("query", "SELECT 1", **how)
        assert ran.returncode != 0, ran.stdout
        return ran.stderr


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with kerberos_realm.started(tmp_path_factory.mktemp("realm")) as realm:
        for user in ("ann", "bob", "eve"):
            realm.add_user(user)
        yield realm


@contextlib.contextmanager
def serving(realm: Realm, binaries: pathlib.Path, folder: pathlib.Path, *flags: str) -> Iterator[Endpoint]:
    """A server in the realm; the KDC's configuration reaches it through the environment."""
    before = os.environ.get("KRB5_CONFIG")
    os.environ["KRB5_CONFIG"] = str(realm.folder / "krb5.conf")
    try:
        with serve(binaries, folder, "optional", *flags) as endpoint:
            yield endpoint
    finally:
        os.environ.pop("KRB5_CONFIG")
        if before is not None:
            os.environ["KRB5_CONFIG"] = before


@pytest.fixture(scope="module")
def place(realm: Realm, binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    spn = f"MSSQLSvc/db.bulkwire.test:1433@{REALM}"
    keytab = realm.add_service(spn)
    folder = tmp_path_factory.mktemp("kerberos_server")
    trusted = ("--trusted-principal", ANN, "--trusted-principal", f"b*@{REALM}")
    with serving(realm, binaries, folder, "--keytab", str(keytab), *trusted) as endpoint:
        yield Place(realm, endpoint, spn)


@pytest.fixture(scope="module")
def ann(realm: Realm) -> str:
    """A cache with a ticket."""
    return realm.ticket("ann")


def test_a_ticket_is_the_login(place: Place, ann: str) -> None:
    assert place.login_name(cache=ann) == f"{ANN} {ANN}"
    # Encrypted or not; TDS 8.0 has a certificate that proves the server too.
    for encrypt in ("Off", "Optional", "Mandatory"):
        url = place.url(f"Encrypt={encrypt}", f"ServerSPN={place.spn}")
        assert place.login_name(cache=ann, url=url) == f"{ANN} {ANN}", encrypt
    strict = (
        f"Server={place.server.host},{place.server.port};Integrated Security=SSPI;"
        f"ServerSPN={place.spn};Encrypt=Strict;ServerCertificate={place.server.certificate}"
    )
    assert place.login_name(cache=ann, url=strict) == f"{ANN} {ANN}"


def test_a_client_keytab_gets_the_ticket(place: Place) -> None:
    keytab = place.realm.user_keytab("bob")
    name = place.login_name(cache="bob.cache", KRB5_CLIENT_KTNAME=str(keytab))
    assert name == f"bob@{REALM} bob@{REALM}"


def test_a_user_names_the_ticket(place: Place, ann: str) -> None:
    url = place.url(f"ServerSPN={place.spn}", "User%20ID=" + ANN.replace("@", "%40"))
    assert place.login_name(cache=ann, url=url) == f"{ANN} {ANN}"
    other = place.url(f"ServerSPN={place.spn}", f"User%20ID=bob%40{REALM}")
    assert f"`kinit bob@{REALM}`" in place.refusal(cache=ann, url=other)


def test_nothing_is_delegated(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = place.realm.ticket("ann", "1h", "-f")
    before = place.realm.forwarded_tickets()
    assert place.login_name(cache=cache) == f"{ANN} {ANN}"
    assert place.realm.forwarded_tickets() == before
    # mssql-jdbc does delegate what it may: the KDC's log would show it.
    assert run_program(programs.jdbc, place, cache, monkeypatch)["outcome"] == "passed"
    assert place.realm.forwarded_tickets() > before


def test_the_name_of_the_service_comes_from_host_and_port(
    realm: Realm, binaries: pathlib.Path, tmp_path: pathlib.Path, ann: str
) -> None:
    # The port is free when the server asks for it, most likely.
    port = kerberos_realm.free_port()
    spn = f"MSSQLSvc/{socket.gethostname().lower()}:{port}@{REALM}"
    keytab = realm.add_service(spn, "named.keytab")
    flags = ("--keytab", str(keytab), "--spn", spn, "--trusted-principal", "*", "--port", str(port))
    with serving(realm, binaries, tmp_path, *flags) as endpoint:
        named = Place(realm, endpoint, spn)
        url = f"mssql://localhost:{port}/master?trusted_connection=yes&TrustServerCertificate=yes"
        assert named.login_name(cache=ann, url=url) == f"{ANN} {ANN}"


def test_bcp_moves_rows_with_a_ticket(place: Place, ann: str, tmp_path: pathlib.Path) -> None:
    table = "dbo.ticket_rows"
    made = place.bulkwire("query", f"CREATE TABLE {table} (id int NOT NULL, word varchar(20))", cache=ann)
    assert made.returncode == 0, made.stderr
    rows = tmp_path / "rows.txt"
    rows.write_text("".join(f"{number}\tword {number}\n" for number in range(ROWS)))
    for direction, file in (("in", rows), ("out", tmp_path / "back.txt")):
        ran = place.bulkwire("bcp", f"master.{table}", direction, str(file), "-c", "-T", "-u", cache=ann)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert f"{ROWS} rows copied." in ran.stdout
    assert sorted((tmp_path / "back.txt").read_text().splitlines()) == sorted(rows.read_text().splitlines())
    counted = place.bulkwire("query", f"SELECT COUNT(*), SUM(id) FROM {table}", "-o", "csv", cache=ann)
    assert counted.stdout.splitlines()[-1].split(",") == [str(ROWS), str(sum(range(ROWS)))]


def test_no_ticket(place: Place) -> None:
    assert "get a ticket: `kinit user@REALM`" in place.refusal()


def test_an_expired_ticket(place: Place) -> None:
    # The least that kinit takes.
    cache = place.realm.ticket("ann", "1s")
    time.sleep(2)
    assert "`kinit user@REALM`" in place.refusal(cache=cache)


def test_a_service_that_the_kdc_does_not_know(place: Place, ann: str) -> None:
    said = place.refusal(cache=ann, url=place.url("ServerSPN=MSSQLSvc/elsewhere:1433"))
    assert "MSSQLSvc/elsewhere:1433" in said and "setspn -L" in said and "ServerSPN=" in said, said


def test_a_service_whose_key_the_server_does_not_have(place: Place, ann: str) -> None:
    place.realm.add_service("MSSQLSvc/other:1433", "other.keytab")
    said = place.refusal(cache=ann, url=place.url("ServerSPN=MSSQLSvc/other:1433"))
    assert "18452" in said and "untrusted domain" in said, said


def test_a_realm_that_is_unknown_and_one_that_is_silent(place: Place, ann: str) -> None:
    unknown = place.refusal(cache=ann, url=place.url("ServerSPN=MSSQLSvc/db:1433@NOWHERE.TEST"))
    assert "NOWHERE.TEST" in unknown, unknown
    lone = place.realm.environment("lone.cache")
    kinit = subprocess.run(
        ["kinit", f"ann@{SILENT_REALM}"],
        input="x\n",
        env=lone,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Cannot contact any KDC" in kinit.stderr
    # A keytab asks the KDC at once.
    keytab = place.realm.user_keytab("bob")
    configuration = place.realm.folder / "silent.conf"
    text = (place.realm.folder / "krb5.conf").read_text()
    configuration.write_text(
        text.replace(f"kdc = 127.0.0.1:{place.realm.port}", f"kdc = 127.0.0.1:{kerberos_realm.free_port()}")
    )
    said = place.refusal(cache="silent.cache", KRB5_CLIENT_KTNAME=str(keytab), KRB5_CONFIG=str(configuration))
    assert "KDC" in said, said


def test_clocks_that_differ(place: Place, ann: str) -> None:
    faketime = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    assert faketime, "scripts/install_clients installs libfaketime"
    shim = place.realm.folder / "kerberos-half-an-hour-ago"
    program = place.server.binaries / "bulkwire"
    shim.write_text(f'#!/bin/sh\nLD_PRELOAD={faketime[0]} FAKETIME=+30m exec {program} "$@"\n')
    shim.chmod(0o755)
    said = place.refusal(cache=ann, BULKWIRE_KERBEROS=str(shim))
    # The server says no more than that it does not know the client; its log has the reason.
    assert "18452" in said or "clocks" in said, said


def test_who_is_not_trusted_is_refused_by_name(place: Place) -> None:
    said = place.refusal(cache=place.realm.ticket("eve"))
    assert f"Login failed for user 'eve@{REALM}'" in said, said


def test_a_server_without_keys_refuses_tickets(
    realm: Realm, server: Endpoint, place: Place, ann: str
) -> None:
    url = place.url(f"ServerSPN={place.spn}").replace(f":{place.server.port}/", f":{server.port}/")
    assert "18452" in place.refusal(cache=ann, url=url)


def test_a_server_whose_keytab_is_missing_does_not_start(realm: Realm, binaries: pathlib.Path) -> None:
    ran = subprocess.run(
        [
            binaries / "bulkwire",
            "serve",
            "--in-memory",
            "--port",
            "0",
            "--keytab",
            "/nowhere",
            "--trusted-principal",
            "*",
        ],
        env=realm.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode != 0 and "is the file of --keytab there" in ran.stderr, ran.stderr


def test_a_silent_program_does_not_outlive_the_login(place: Place, ann: str) -> None:
    silent = place.realm.folder / "silent-program"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    said = place.refusal(
        cache=ann,
        BULKWIRE_KERBEROS=str(silent),
        url=place.url(f"ServerSPN={place.spn}", "Connect%20Timeout=2"),
    )
    assert "is the KDC reachable?" in said, said


def test_the_driver_of_microsoft(place: Place, ann: str) -> None:
    run_in_python(place, ann, PYODBC)


PYODBC = """
import odbc, pyodbc, sys
host, port, spn = sys.argv[1:]
text = (f"DRIVER={{{odbc.driver()}}};Server={host},{port};Trusted_Connection=yes;ServerSPN={spn};"
        "Encrypt=yes;TrustServerCertificate=yes")
print(pyodbc.connect(text).execute("SELECT SUSER_SNAME()").fetchval())
"""

MSSQL_PYTHON = """
import mssql_python, sys
host, port, spn = sys.argv[1:]
text = (f"Server={host},{port};Trusted_Connection=yes;ServerSPN={spn};Encrypt=yes;TrustServerCertificate=yes")
print(mssql_python.connect(text).cursor().execute("SELECT SUSER_SNAME()").fetchone()[0])
"""


def run_in_python(place: Place, cache: str, text: str) -> None:
    """In a process of its own: the Kerberos library reads its variables once."""
    ran = subprocess.run(
        [sys.executable, "-c", text, place.server.host, str(place.server.port), place.spn],
        env=place.realm.environment(cache),
        cwd=pathlib.Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert ran.returncode == 0 and ran.stdout.strip() == ANN, ran.stdout + ran.stderr


def test_mssql_python(place: Place, ann: str) -> None:
    run_in_python(place, ann, MSSQL_PYTHON)


def test_freetds(place: Place, ann: str, tmp_path: pathlib.Path) -> None:
    configuration = tmp_path / "freetds.conf"
    configuration.write_text(
        "[global]\ntds version = 7.4\nencryption = request\n"
        f"[bulkwire]\nhost = {place.server.host}\nport = {place.server.port}\nspn = {place.spn}\n"
    )
    # Without a user it takes the ticket.
    ran = subprocess.run(
        ["tsql", "-S", "bulkwire", "-o", "fhq"],
        env=place.realm.environment(ann, FREETDSCONF=str(configuration), LC_ALL="C.UTF-8"),
        input="SELECT SUSER_SNAME()\nGO\n",
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert ANN in ran.stdout, ran.stdout + ran.stderr


def run_program(build, place: Place, cache: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a program in another language says of its sign-in."""
    variables = {"BULKWIRE_SPN": place.spn.split("@")[0], "BULKWIRE_PRINCIPAL": ANN}
    for name, value in place.realm.environment(cache, **variables).items():
        monkeypatch.setenv(name, value)
    return programs.Program(build, ()).run(place.server, place.server, ["login_ticket"])["login_ticket"]


@pytest.mark.parametrize("build", [programs.go, programs.jdbc], ids=["go_mssqldb", "mssql_jdbc"])
def test_programs_in_other_languages(place: Place, ann: str, build, monkeypatch: pytest.MonkeyPatch) -> None:
    said = run_program(build, place, ann, monkeypatch)
    assert said["outcome"] == "passed", said


class Relay:
    """Decrypts what a client sends, and sends it on over TLS of its own, as an attacker in between does."""

    def __init__(self, server: Endpoint, folder: pathlib.Path, newest: ssl.TLSVersion) -> None:
        self.server = server
        self.certificate = folder / "relay.pem"
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=relay"]
        files = ["-keyout", folder / "relay.key", "-out", self.certificate]
        subprocess.run([*made, *files], check=True, capture_output=True)
        self.inward = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.inward.load_cert_chain(self.certificate, folder / "relay.key")
        self.outward = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.outward.check_hostname = False
        self.outward.verify_mode = ssl.CERT_NONE
        for context in (self.inward, self.outward):
            context.maximum_version = newest
            context.set_alpn_protocols(["tds/8.0"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        # What OpenSSL says of each session with a client.
        self.bindings: list[bytes | None] = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = self.listener.accept()
                threading.Thread(target=self.relay, args=(taken,), daemon=True).start()

    def relay(self, taken: socket.socket) -> None:
        with contextlib.suppress(OSError):
            client = self.inward.wrap_socket(taken, server_side=True)
            self.bindings.append(client.get_channel_binding("tls-unique"))
            behind = socket.create_connection((self.server.host, self.server.port))
            server = self.outward.wrap_socket(behind, server_hostname="localhost")
            others = {client: server, server: client}
            while True:
                readable, _, _ = select.select(list(others), [], [])
                for source in readable:
                    if not (some := source.recv(1 << 16)):
                        client.close()
                        return server.close()
                    # A record may have more than was taken, which nothing announces.
                    while source.pending():
                        some += source.recv(1 << 16)
                    others[source].sendall(some)


@pytest.fixture
def first_line(place: Place, tmp_path: pathlib.Path) -> Callable[[], dict]:
    """What the command has said first to the program, if it is started by the script `shim`."""
    kept, shim = tmp_path / "kept", tmp_path / "shim"
    program = place.server.binaries / "bulkwire"
    shim.write_text(f'#!/bin/sh\ntee {kept} | {program} "$@"\n')
    shim.chmod(0o755)
    return lambda: json.loads(kept.read_text().splitlines()[0])["begin"]


def test_a_ticket_is_bound_to_the_session_that_it_came_in(
    place: Place, ann: str, tmp_path: pathlib.Path, first_line: Callable[[], dict]
) -> None:
    shim = str(tmp_path / "shim")
    for encrypt, is_bound in (("Mandatory", True), ("Optional", True), ("Off", False)):
        url = place.url(f"Encrypt={encrypt}", f"ServerSPN={place.spn}")
        assert place.login_name(cache=ann, url=url, BULKWIRE_KERBEROS=shim) == f"{ANN} {ANN}"
        binding = bytes.fromhex(first_line().get("binding", ""))
        assert (binding[:11], len(binding)) == ((b"tls-unique:", 23) if is_bound else (b"", 0)), encrypt


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_ticket_that_is_passed_on_is_refused(
    place: Place, ann: str, tmp_path: pathlib.Path, first_line: Callable[[], dict], newest: ssl.TLSVersion
) -> None:
    relay = Relay(place.server, tmp_path, newest)
    text = (
        f"Server=127.0.0.1,{relay.port};Integrated Security=SSPI;ServerSPN={place.spn};Encrypt=Strict;"
        f"ServerCertificate={relay.certificate}"
    )
    how = {"cache": ann, "url": text, "BULKWIRE_KERBEROS": str(tmp_path / "shim")}
    if newest == ssl.TLSVersion.TLSv1_2:
        assert "18452" in place.refusal(**how)
        # The client has computed what OpenSSL has.
        assert bytes.fromhex(first_line()["binding"]) == b"tls-unique:" + relay.bindings[-1]
    else:
        # TLS 1.3 has no such binding, so that nothing is noticed.
        assert place.login_name(**how) == f"{ANN} {ANN}"
        assert "binding" not in first_line()
    relay.listener.close()


class Windows:
    """Programs of Windows under Wine, whose SSPI has the tickets of this system's Kerberos library."""

    def __init__(self, wine: list[str], programs: pathlib.Path) -> None:
        self.wine = wine
        self.programs = programs

    def run(self, place: Place, program: str, *arguments: str, cache: str, **variables: str):
        return subprocess.run(
            [*self.wine, self.programs / f"{program}.exe", *arguments],
            env=place.realm.environment(cache, **variables),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=RUN_SECONDS,
            check=False,
        )


@pytest.fixture(scope="module")
def windows(binaries: pathlib.Path) -> Windows:
    programs = binaries.parent / "x86_64-pc-windows-gnu" / binaries.name
    if not (programs / "bulkwire.exe").is_file():
        pytest.skip("no program of Windows: cargo build --target x86_64-pc-windows-gnu -p bulkwire")
    script = pathlib.Path(__file__).parent.parent / "packaging" / "wine.py"
    ready = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    if ready.returncode != 0:
        pytest.skip(ready.stderr.strip())
    return Windows(["/usr/bin/env", *shlex.split(ready.stdout)], programs)


def test_windows_signs_in_by_sspi(windows: Windows, place: Place, ann: str, tmp_path: pathlib.Path) -> None:
    """The command of this system with the program of Windows."""
    shim = tmp_path / "kerberos-of-windows"
    words = [*windows.wine, str(windows.programs / "bulkwire.exe")]
    shim.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    shim.chmod(0o755)
    how = {"BULKWIRE_KERBEROS": str(shim), "url": place.url(f"ServerSPN={place.spn}", "Connect%20Timeout=60")}
    assert place.login_name(cache=ann, **how) == f"{ANN} {ANN}"
    assert "Kerberos: " in place.refusal(**how)
    other = place.url("ServerSPN=MSSQLSvc/elsewhere:1433", "Connect%20Timeout=60")
    assert "MSSQLSvc/elsewhere:1433" in place.refusal(cache=ann, **{**how, "url": other})


def test_the_command_of_windows_signs_in(
    windows: Windows, place: Place, ann: str, tmp_path: pathlib.Path
) -> None:
    if not (windows.programs / "bulkwire.exe").is_file():
        pytest.skip("no command of Windows: cargo build --target x86_64-pc-windows-gnu -p bulkwire-cli")
    how = {"cache": ann, "BULKWIRE_URL": place.url(f"ServerSPN={place.spn}", "Connect%20Timeout=60")}
    asked = windows.run(place, "bulkwire", "query", "SELECT SUSER_SNAME()", "-o", "csv", **how)
    assert asked.returncode == 0 and ANN in asked.stdout, asked.stdout + asked.stderr
    table = "dbo.rows_of_windows"
    made = place.bulkwire("query", f"CREATE TABLE {table} (id int NOT NULL, word varchar(20))", cache=ann)
    assert made.returncode == 0, made.stderr
    rows = tmp_path / "rows.txt"
    rows.write_text("".join(f"{number}\tword {number}\r\n" for number in range(ROWS)))
    file = "Z:" + str(rows).replace("/", "\\")
    ran = windows.run(place, "bulkwire", "bcp", f"master.{table}", "in", file, "-c", "-T", "-u", **how)
    assert ran.returncode == 0 and f"{ROWS} rows copied." in ran.stdout, ran.stdout + ran.stderr
    counted = place.bulkwire("query", f"SELECT COUNT(*) FROM {table}", "-o", "csv", cache=ann)
    assert counted.stdout.splitlines()[-1] == str(ROWS)
