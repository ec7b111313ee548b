"""Microsoft Entra: bulkwire's client gets tokens in every way, and other people's clients bring theirs."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import struct
import subprocess
import time
from collections.abc import Iterator

import jwt
import mssql_python
import pyodbc
import pytest
import token_endpoint
from cryptography.hazmat.primitives.asymmetric import rsa
from token_endpoint import APPLICATION, PERSON, RESOURCE, SECRET, TENANT, TokenService

import odbc
import programs
from conftest import Endpoint, serve

RUN_SECONDS = 120
# The attribute of Microsoft's ODBC driver that takes a token.
SQL_COPT_SS_ACCESS_TOKEN = 1256
NAME = "SELECT SUSER_SNAME()"
DEVICE_SECRETS = ("device-secret", "refresh-secret")


class Place:
    """A token service, and a server that trusts its tokens."""

    def __init__(self, service: TokenService, server: Endpoint) -> None:
        self.service = service
        self.server = server

    def url(self, *options: str) -> str:
        options = ("TrustServerCertificate=yes", f"Authority={self.service.base}", *options)
        return f"mssql://{self.server.host}:{self.server.port}/master?{'&'.join(options)}"

    def bulkwire(self, *arguments: str, url: str, stdin: str | None = None, **variables: str):
        """Runs bulkwire; no secret may be in what it says, even at the level of all details."""
        plain = {
            name: value for name, value in os.environ.items() if not name.startswith(("AZURE_", "IDENTITY_"))
        }
        ran = subprocess.run(
            [self.server.binaries / "bulkwire", *arguments],
            env={**plain, "BULKWIRE_URL": url, "BULKWIRE_LOG": "trace", **self.environment(), **variables},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        said = ran.stdout + ran.stderr
        for secret in (
            SECRET,
            "eyJ",
            "token-of-the-cluster",
            "header-secret",
            "device-secret",
            "refresh-secret",
        ):
            assert secret not in said, said
        return ran

    def environment(self) -> dict[str, str]:
        # No way to a real Azure, nor to a proxy.
        return {
            "SSL_CERT_FILE": str(self.service.trusted),
            "AZURE_POD_IDENTITY_AUTHORITY_HOST": self.service.plain,
            "AZURE_CONFIG_DIR": str(self.service.folder),
            "NO_PROXY": "*",
        }

    def login_name(self, *options: str, **variables: str) -> str:
        ran = self.bulkwire("query", NAME, "-o", "csv", url=self.url(*options), **variables)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()[-1]

    def refusal(self, *options: str, **variables: str) -> str:
        ran = self.bulkwire("query", "SELECT 1", url=self.url(*options), **variables)
        assert ran.returncode != 0, ran.stdout
        return ran.stderr


@contextlib.contextmanager
def started(service: TokenService, binaries: pathlib.Path, *flags: str) -> Iterator[Place]:
    whole = ("--entra-key", str(service.public), "--entra-issuer", service.issuer)
    principals = (APPLICATION, "*@contoso.example", "machine", "service", "mine")
    whole += tuple(word for name in principals for word in ("--entra-principal", name))
    with serve(binaries, service.folder, "optional", *whole, *flags) as server:
        yield Place(service, server)


@pytest.fixture(scope="module")
def shared(binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with (
        token_endpoint.serving(tmp_path_factory.mktemp("entra")) as service,
        started(service, binaries) as place,
    ):
        yield place


@pytest.fixture
def place(shared: Place) -> Place:
    service = shared.service
    service.seen.clear()
    service.planned.clear()
    service.silent.clear()
    service.lifetime_seconds = 3600
    return shared


APPLICATION_OPTIONS = ("Authentication=ActiveDirectoryServicePrincipal", f"UserID={APPLICATION}")


def test_an_application_with_a_secret(place: Place) -> None:
    name = place.login_name(*APPLICATION_OPTIONS, BULKWIRE_PASSWORD=SECRET)
    assert name == APPLICATION
    (request,) = place.service.seen
    # The server has named the tenant.
    assert request.path == f"/{TENANT}/oauth2/v2.0/token"
    assert request.fields["client_id"] == APPLICATION
    # Encryption of the login alone would leave the token in the clear.
    assert place.login_name(*APPLICATION_OPTIONS, "Encrypt=Optional", BULKWIRE_PASSWORD=SECRET) == APPLICATION


def test_flags_say_the_same(place: Place, tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")
    url = f"mssql://{APPLICATION}@{place.server.host}:{place.server.port}/master?TrustServerCertificate=yes"
    flags = ("--authentication", "ActiveDirectoryServicePrincipal", "--authority", place.service.base)
    ran = place.bulkwire("query", NAME, "-o", "csv", *flags, "--password-file", str(secret), url=url)
    assert ran.stdout.splitlines()[-1:] == [APPLICATION], ran.stderr
    out = tmp_path / "out.txt"
    login = ("-S", f"{place.server.host},{place.server.port}", "-U", APPLICATION, "-u")
    ran = place.bulkwire(
        "bcp", NAME, "queryout", str(out), "-c", *login, *flags, "--password-command", f"cat {secret}", url=""
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert out.read_text().strip() == APPLICATION


def test_a_wrong_secret(place: Place) -> None:
    said = place.refusal(*APPLICATION_OPTIONS, BULKWIRE_PASSWORD="hunter3")
    assert "AADSTS7000215: Invalid client secret provided. Trace ID: t-1" in said, said
    assert "Correlation ID: c-0123" in said and "hunter3" not in said, said
    # An endpoint that repeats what it was sent.
    place.service.planned.append((400, {}, {"error_description": f"what is {SECRET}?"}))
    assert "what is ***?" in place.refusal(*APPLICATION_OPTIONS, BULKWIRE_PASSWORD=SECRET)


def test_an_application_with_a_certificate(place: Place, tmp_path: pathlib.Path) -> None:
    file = place.service.client_certificate()
    assert place.login_name(*APPLICATION_OPTIONS, f"ClientCertificate={file}") == APPLICATION
    other = tmp_path / "other.pem"
    for content, expected in [
        (b"0\x82", "is no PEM file"),
        (place.service.certificate, "has no private key"),
        (file.read_bytes().split(b"-----BEGIN CERT")[0], "has no certificate"),
        (b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "has an encrypted key"),
    ]:
        other.write_bytes(content)
        assert expected in place.refusal(*APPLICATION_OPTIONS, f"ClientCertificate={other}")


def test_managed_identities(place: Place) -> None:
    managed = "Authentication=ActiveDirectoryManagedIdentity"
    assert place.login_name(managed) == "machine"
    assert place.login_name("Authentication=ActiveDirectoryMSI", "UserID=mine") == "mine"
    service = {"IDENTITY_ENDPOINT": f"{place.service.plain}/msi/token", "IDENTITY_HEADER": "header-secret"}
    assert place.login_name(managed, **service) == "service"
    # The service of a machine that has just started.
    place.service.planned += [(404, {}, {}), (410, {}, {})]
    assert place.login_name(managed) == "machine"


def test_a_workload_identity(place: Place, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text("token-of-the-cluster")
    variables = {"AZURE_FEDERATED_TOKEN_FILE": str(file), "AZURE_CLIENT_ID": APPLICATION}
    workload = "Authentication=ActiveDirectoryWorkloadIdentity"
    assert place.login_name(workload, **variables) == APPLICATION
    assert place.login_name(workload, f"ClientID={APPLICATION}", f"FederatedTokenFile={file}") == APPLICATION
    assert "AZURE_FEDERATED_TOKEN_FILE is not set" in place.refusal(workload)


def with_az(folder: pathlib.Path, script: str) -> dict[str, str]:
    """A program that stands for Azure CLI."""
    program = folder / "az"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_azure_cli(place: Place, tmp_path: pathlib.Path) -> None:
    answer = tmp_path / "answer.json"
    token = place.service.token(upn=PERSON)
    answer.write_text(json.dumps({"accessToken": token, "expiresOn": "2026-01-01 00:00:00"}))
    variables = with_az(tmp_path, f'echo "$@" > {tmp_path}/words; cat {answer}')
    az = "Authentication=ActiveDirectoryAzCli"
    assert place.login_name(az, **variables) == PERSON
    words = f"account get-access-token --output json --resource {RESOURCE} --tenant {TENANT}"
    assert (tmp_path / "words").read_text().strip() == words
    signed_out = with_az(tmp_path, "echo \"Please run 'az login' to setup account.\" >&2; exit 1")
    assert "Please run 'az login'" in place.refusal(az, **signed_out)
    assert "is not installed" in place.refusal(az, PATH="/nowhere")


def test_a_device_code(place: Place) -> None:
    pending = (400, {}, {"error": "authorization_pending"})
    device = "Authentication=ActiveDirectoryDeviceCodeFlow"
    # The first answer is the code; nobody has entered it at the first look. The time for connecting is not
    # that for a person.
    place.service.planned += [place.service.answer(code_request()), pending, pending]
    ran = place.bulkwire("query", NAME, "-o", "csv", url=place.url(device, "ConnectTimeout=1"))
    assert ran.stdout.splitlines()[-1:] == [PERSON], ran.stderr
    assert "open https://microsoft.example/device in a browser and enter the code ABCD-1234" in ran.stderr
    place.service.planned += [
        place.service.answer(code_request()),
        (400, {}, {"error": "authorization_declined", "error_description": "AADSTS70000: declined"}),
    ]
    assert "AADSTS70000: declined" in place.refusal(device)


def code_request() -> token_endpoint.Request:
    fields = {"scope": f"{RESOURCE}/.default offline_access"}
    return token_endpoint.Request(f"/{TENANT}/oauth2/v2.0/devicecode", {}, fields)


def test_the_default_takes_what_there_is_in_the_order_of_azure(place: Place, tmp_path: pathlib.Path) -> None:
    default = "Authentication=ActiveDirectoryDefault"
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps({"accessToken": place.service.token(upn=PERSON)}))
    file = tmp_path / "token"
    file.write_text("token-of-the-cluster")
    everything = {
        **with_az(tmp_path, f"cat {answer}"),
        "AZURE_TENANT_ID": TENANT,
        "AZURE_CLIENT_ID": APPLICATION,
        "AZURE_CLIENT_SECRET": SECRET,
        "AZURE_FEDERATED_TOKEN_FILE": str(file),
    }
    assert place.login_name(default, **everything) == APPLICATION
    assert "client_secret" in place.service.seen[-1].fields
    del everything["AZURE_CLIENT_SECRET"]
    assert place.login_name(default, **everything) == APPLICATION
    assert "client_assertion" in place.service.seen[-1].fields
    del everything["AZURE_FEDERATED_TOKEN_FILE"]
    assert place.login_name(default, **everything | {"AZURE_CLIENT_ID": "mine"}) == "mine"
    nobody = "http://127.0.0.1:9"
    assert place.login_name(default, **everything | {"AZURE_POD_IDENTITY_AUTHORITY_HOST": nobody}) == PERSON
    said = place.refusal(default, PATH="/nowhere", AZURE_POD_IDENTITY_AUTHORITY_HOST=nobody)
    for link in ("environment: ", "workload identity: ", "managed identity: ", "Azure CLI: "):
        assert link in said, said
    # One that is there and is refused: another identity would be a surprise.
    wrong = everything | {"AZURE_CLIENT_SECRET": "hunter3"}
    assert "AADSTS7000215" in place.refusal(default, **wrong)


def test_an_endpoint_that_is_busy(place: Place) -> None:
    place.service.planned += [(429, {"Retry-After": "1"}, {"error": "throttled"}), (503, {}, "<html>")]
    assert place.login_name(*APPLICATION_OPTIONS, BULKWIRE_PASSWORD=SECRET) == APPLICATION
    assert len(place.service.seen) == 3
    # Longer than the login may take: the reason is named, and nothing waits for it.
    place.service.planned.append((429, {"Retry-After": "3000"}, {"error": "throttled"}))
    said = place.refusal(*APPLICATION_OPTIONS, "ConnectTimeout=5", BULKWIRE_PASSWORD=SECRET)
    assert "localhost answered 429" in said, said
    place.service.planned += [(500, {}, "")] * 5
    said = place.refusal(*APPLICATION_OPTIONS, "ConnectTimeout=60", BULKWIRE_PASSWORD=SECRET)
    assert "status 500" in said, said


def test_an_endpoint_that_never_answers(place: Place) -> None:
    place.service.silent.set()
    begun = time.monotonic()
    said = place.refusal(*APPLICATION_OPTIONS, "ConnectTimeout=2", BULKWIRE_PASSWORD=SECRET)
    assert "cannot be asked for a token" in said or "no token came" in said, said
    assert time.monotonic() - begun < 40


def test_nothing_is_sent_where_nobody_allowed_it(place: Place, binaries: pathlib.Path) -> None:
    # The authority that the user allows is another one.
    options = (*APPLICATION_OPTIONS, "Authority=https://login.microsoftonline.us")
    url = place.url().replace(f"Authority={place.service.base}", "&".join(options))
    ran = place.bulkwire("query", "SELECT 1", url=url, BULKWIRE_PASSWORD=SECRET)
    assert "nothing was sent there" in ran.stderr and place.service.base in ran.stderr, ran.stderr
    # A token for something else would let the server act as this client there.
    with started(place.service, binaries, "--entra-audience", "https://graph.microsoft.com") as hostile:
        said = hostile.refusal(*APPLICATION_OPTIONS, BULKWIRE_PASSWORD=SECRET)
        assert "graph.microsoft.com" in said and "Resource=" in said, said
    assert place.service.seen == []


def test_a_certificate_of_the_endpoint_that_nobody_trusts(place: Place, tmp_path: pathlib.Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    said = place.refusal(*APPLICATION_OPTIONS, BULKWIRE_PASSWORD=SECRET, SSL_CERT_FILE=str(empty))
    assert "cannot be asked for a token" in said, said
    assert place.service.seen == []


def test_a_load_outlives_its_token(place: Place, binaries: pathlib.Path, tmp_path: pathlib.Path) -> None:
    faults = tmp_path / "faults.json"
    cut = {"fault": "cut", "on": "bulk", "after_rows": 1500, "times": 1}
    faults.write_text(json.dumps({"seed": 1, "rules": [cut]}))
    place.service.lifetime_seconds = 4
    with started(place.service, binaries, "--faults", str(faults)) as broken:
        url = broken.url(*APPLICATION_OPTIONS)
        made = broken.bulkwire("query", "CREATE TABLE t (id int)", url=url, BULKWIRE_PASSWORD=SECRET)
        assert made.returncode == 0, made.stderr
        place.service.seen.clear()
        command = [binaries / "bulkwire", "load", "dbo.t", "-", "--format", "csv", "--retry-for", "60"]
        environment = {**os.environ, **broken.environment(), "BULKWIRE_URL": url, "BULKWIRE_PASSWORD": SECRET}
        load = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        load.stdin.write("id\n" + "".join(f"{number}\n" for number in range(1000)))
        load.stdin.flush()
        time.sleep(6)
        # The batch ends now and is cut off; the connection for the next try needs a token again.
        said = load.communicate("7\n" * 1000, timeout=RUN_SECONDS)[1]
        assert load.returncode == 0, said
        assert len(place.service.seen) >= 2, said
        counted = broken.bulkwire(
            "query", "SELECT COUNT(*) FROM t", "-o", "csv", url=url, BULKWIRE_PASSWORD=SECRET
        )
        assert counted.stdout.splitlines()[-1] == "2000"


def test_tokens_that_the_server_refuses(place: Place) -> None:
    service = place.service
    plain = place.url().replace(f"&Authority={service.base}", "")

    def outcome(token: str) -> str:
        ran = place.bulkwire("query", NAME, "-o", "csv", url=plain, BULKWIRE_ACCESS_TOKEN=token)
        return ran.stdout.splitlines()[-1] if ran.returncode == 0 else ran.stderr

    now = int(time.time())
    assert outcome(service.token()) == APPLICATION
    assert outcome(service.token(upn=PERSON)) == PERSON
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    header, body, signature = service.token().split(".")
    forged = jwt.encode({"x": 1}, None, algorithm="none").split(".")[0]
    for token in [
        service.token(exp=now - 120),
        service.token(nbf=now + 600),
        service.token(aud="https://graph.microsoft.com"),
        service.token(iss="https://sts.windows.net/other/"),
        service.token(key=other),
        # The public key as a shared secret.
        jwt.api_jws.PyJWS().encode(b"{}", b"0" * 32, algorithm="HS256"),
        f"{forged}.{body}.",
        f"{header}.{body}.{signature[:-4]}AAAA",
        "nonsense",
    ]:
        assert "Login failed for user '<token-identified principal>'" in outcome(token), token
    assert "Login failed for user 'eve'" in outcome(service.token(appid="eve"))


def test_a_server_without_keys_refuses_tokens(place: Place, server: Endpoint) -> None:
    url = f"mssql://{server.host}:{server.port}/master?TrustServerCertificate=yes"
    ran = place.bulkwire("query", "SELECT 1", url=url, BULKWIRE_ACCESS_TOKEN=place.service.token())
    assert "token-identified principal" in ran.stderr, ran.stderr


def test_a_server_whose_keys_are_none_does_not_start(place: Place, binaries: pathlib.Path) -> None:
    words = ("--entra-issuer", "x", "--entra-principal", "*")
    for keys, expected in [("/nowhere", "cannot be read"), (programs.__file__, "is neither a public key")]:
        ran = subprocess.run(
            [binaries / "bulkwire", "serve", "--in-memory", "--port", "0", "--entra-key", keys, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 1 and expected in ran.stderr, ran.stderr


def test_a_set_of_keys(place: Place, binaries: pathlib.Path, tmp_path: pathlib.Path) -> None:
    keys = tmp_path / "keys.json"
    key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(place.service.key.public_key()))
    keys.write_text(json.dumps({"keys": [key | {"kid": "k-1", "use": "sig"}]}))
    words = ("--entra-key", str(keys), "--entra-issuer", place.service.issuer, "--entra-principal", "*")
    with serve(binaries, tmp_path, "optional", *words) as server:
        assert odbc_name(server, place.service.token()) == APPLICATION


def odbc_name(server: Endpoint, token: str) -> str:
    """The login name over Microsoft's ODBC driver."""
    text = token.encode("utf-16-le")
    attribute = struct.pack("<I", len(text)) + text
    where = f"Server={server.host},{server.port};Encrypt=yes;TrustServerCertificate=yes"
    with contextlib.closing(
        pyodbc.connect(
            f"DRIVER={{{odbc.driver()}}};{where}", attrs_before={SQL_COPT_SS_ACCESS_TOKEN: attribute}
        )
    ) as connection:
        return connection.execute(NAME).fetchval()


def test_the_driver_of_microsoft(place: Place) -> None:
    assert odbc_name(place.server, place.service.token(upn=PERSON)) == PERSON
    with pytest.raises(pyodbc.Error, match="18456"):
        odbc_name(place.server, place.service.token(aud="x"))


def test_mssql_python(place: Place) -> None:
    text = place.service.token().encode("utf-16-le")
    attribute = struct.pack("<I", len(text)) + text
    connection = mssql_python.connect(
        f"Server={place.server.host},{place.server.port};Encrypt=yes;TrustServerCertificate=yes",
        attrs_before={SQL_COPT_SS_ACCESS_TOKEN: attribute},
    )
    assert connection.cursor().execute(NAME).fetchone()[0] == APPLICATION
    connection.close()


GO = """
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

func main() {
	url := "sqlserver://" + os.Getenv("PLACE") + "?encrypt=true&trustServerCertificate=true"
	config, err := msdsn.Parse(url)
	if err != nil {
		panic(err)
	}
	given, err := mssql.NewSecurityTokenConnector(config, func(context.Context) (string, error) {
		return os.Getenv("TOKEN"), nil
	})
	if err != nil {
		panic(err)
	}
	asked, err := mssql.NewActiveDirectoryTokenConnector(config, mssql.FedAuthADALWorkflowPassword,
		func(_ context.Context, service, sts string) (string, error) {
			fmt.Println(service, sts)
			return os.Getenv("TOKEN"), nil
		})
	if err != nil {
		panic(err)
	}
	for _, connector := range []*mssql.Connector{given, asked} {
		var name string
		if err := sql.OpenDB(connector).QueryRow("SELECT SUSER_SNAME()").Scan(&name); err != nil {
			panic(err)
		}
		fmt.Println(name)
	}
}
"""

TEDIOUS = """
import { Connection, Request } from 'tedious';
const [host, port] = process.env.PLACE.split(':');
const connection = new Connection({
  server: host,
  authentication: { type: 'azure-active-directory-access-token', options: { token: process.env.TOKEN } },
  options: { port: Number(port), encrypt: true, trustServerCertificate: true },
});
connection.connect((error) => {
  if (error) throw error;
  const request = new Request('SELECT SUSER_SNAME()', (error) => {
    if (error) throw error;
    connection.close();
  });
  request.on('row', ([name]) => console.log(name.value));
  connection.execSql(request);
});
"""

JDBC = """
import com.microsoft.sqlserver.jdbc.SQLServerDataSource;

public class Example {
    public static void main(String[] words) throws Exception {
        var source = new SQLServerDataSource();
        String options = ";encrypt=true;trustServerCertificate=true";
        source.setURL("jdbc:sqlserver://" + System.getenv("PLACE") + options);
        source.setAccessToken(System.getenv("TOKEN"));
        try (var connection = source.getConnection();
                var rows = connection.createStatement().executeQuery("SELECT SUSER_SNAME()")) {
            rows.next();
            System.out.println(rows.getString(1));
        }
    }
}
"""


@pytest.mark.parametrize(
    ("client", "text"),
    [("go-mssqldb", GO), ("tedious", TEDIOUS), ("mssql-jdbc", JDBC)],
    ids=lambda value: value[:12],
)
def test_clients_in_other_languages(
    place: Place, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, client: str, text: str
) -> None:
    monkeypatch.setenv("PLACE", f"{place.server.host}:{place.server.port}")
    monkeypatch.setenv("TOKEN", place.service.token())
    printed = programs.run_snippet(client, text.lstrip(), tmp_path).split()
    # Go's driver also asks where to sign in.
    asked = [APPLICATION, RESOURCE, place.service.issuer, APPLICATION]
    assert printed == (asked if client == "go-mssqldb" else [APPLICATION])
