"""Who may log in: places of passwords, and a server that takes access tokens."""

from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import time

import bulkwire
import pytest

ISSUER = "https://sts.example/tenant/"


def test_a_password_has_places(tmp_path: pathlib.Path) -> None:
    with bulkwire.Server() as server:
        place = {"server": server.host, "port": server.port, "user": server.user, "trust_server_certificate": True}
        secret = tmp_path / "secret"
        secret.write_text(server.password + "\n")
        for keywords in ({"password_file": secret}, {"password_command": f"cat '{secret}'"}):
            with bulkwire.connect(**place, **keywords) as db:
                assert db.fetch("SELECT 1") == [(1,)]
        with pytest.raises(bulkwire.ConfigError, match="exclude one another"):
            bulkwire.connect(**place, password="x", password_file=secret)
        with pytest.raises(bulkwire.Error, match="nowhere") as raised:
            bulkwire.connect(**place, password_file="nowhere")
        assert server.password not in str(raised.value)


def test_ways_to_a_token_are_checked() -> None:
    with pytest.raises(bulkwire.ConfigError, match="User ID is missing"):
        bulkwire.connect(server="h", authentication="ActiveDirectoryServicePrincipal", password="x")
    with pytest.raises(bulkwire.ConfigError, match="opens no browser"):
        bulkwire.connect(server="h", authentication="ActiveDirectoryInteractive")


def openssl(*words: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *words], input=stdin, capture_output=True, check=True, timeout=60).stdout


def token(key: pathlib.Path, **claims: object) -> str:
    """A signed token."""

    def text(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    whole = {"iss": ISSUER, "aud": "https://database.windows.net/", "exp": int(time.time()) + 600, **claims}
    signed = f"{text(json.dumps({'alg': 'RS256'}).encode())}.{text(json.dumps(whole).encode())}"
    return f"{signed}.{text(openssl('dgst', '-sha256', '-sign', str(key), stdin=signed.encode()))}"


def test_a_server_takes_tokens(tmp_path: pathlib.Path) -> None:
    key, public = tmp_path / "key.pem", tmp_path / "public.pem"
    openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(key))
    openssl("pkey", "-in", str(key), "-pubout", "-out", str(public))
    options = {"entra_key": public, "entra_issuer": ISSUER, "entra_principals": ["*@contoso.example"]}
    with bulkwire.Server(**options) as server:
        place = {"server": server.host, "port": server.port, "trust_server_certificate": True}
        with bulkwire.connect(**place, access_token=token(key, upn="ann@contoso.example")) as db:
            assert db.fetch("SELECT SUSER_SNAME()") == [("ann@contoso.example",)]
        for claims in ({"upn": "ann@other.example"}, {"upn": "ann@contoso.example", "exp": 1}):
            with pytest.raises(bulkwire.LoginError, match="18456"):
                bulkwire.connect(**place, access_token=token(key, **claims))
    with pytest.raises(bulkwire.Error, match="has a private key"):
        bulkwire.Server(**options | {"entra_key": key})


def test_options_of_a_server_that_belong_together() -> None:
    for options in (
        {"keytab": "k"},
        {"trusted_principals": ["*"]},
        {"spn": "s"},
        {"entra_key": "k"},
        {"entra_key": "k", "entra_issuer": "i"},
        {"entra_principals": ["*"]},
        {"entra_audiences": ["a"]},
    ):
        with pytest.raises(bulkwire.UsageError):
            bulkwire.Server(**options)
    with pytest.raises(bulkwire.Error, match="cannot accept Kerberos tickets"):
        bulkwire.Server(keytab="/nowhere", trusted_principals=["*"])
