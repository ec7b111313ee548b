"""A Kerberos realm of its own: a KDC on a free port, and nothing of the machine's configuration."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

REALM = "BULKWIRE.TEST"
# A realm whose KDC does not answer.
SILENT_REALM = "SILENT.TEST"
# Debian keeps the server's programs where only root looks.
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
START_SECONDS = 30


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Realm:
    """A realm; its principals have random passwords or keys."""

    def __init__(self, folder: pathlib.Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.passwords: dict[str, str] = {}
        (folder / "krb5.conf").write_text(
            "[libdefaults]\n"
            f" default_realm = {REALM}\n"
            " dns_lookup_realm = false\n dns_lookup_kdc = false\n rdns = false\n"
            ' dns_canonicalize_hostname = false\n qualify_shortname = ""\n udp_preference_limit = 1\n'
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
            f" {SILENT_REALM} = {{\n  kdc = 127.0.0.1:{free_port()}\n }}\n"
            f"[domain_realm]\n silent.test = {SILENT_REALM}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n"
            f"  key_stash_file = {folder}/stash\n  acl_file = {folder}/acl\n  max_life = 10h\n"
            "  supported_enctypes = aes256-cts:normal aes128-cts:normal\n }\n"
            f"[logging]\n kdc = FILE:{folder}/kdc.log\n"
        )

    def environment(self, cache: str = "none", **more: str) -> dict[str, str]:
        """The variables of a client whose tickets are in this cache."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("KRB5")}
        return {
            **ours,
            "PATH": PATH,
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder / cache}",
            **more,
        }

    def run(self, *command: str, stdin: str = "", **variables: str) -> str:
        finished = subprocess.run(
            command,
            env=self.environment(**variables),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert finished.returncode == 0, (command, finished.stdout, finished.stderr)
        return finished.stdout

    def add_user(self, name: str) -> None:
        self.passwords[name] = secrets.token_urlsafe(12)
        self.run("kadmin.local", "addprinc", "-pw", self.passwords[name], name)

    def add_service(self, principal: str, keytab: str = "server.keytab") -> pathlib.Path:
        """Adds a service with a random key, which goes to the keytab."""
        file = self.folder / keytab
        self.run("kadmin.local", "addprinc", "-randkey", principal)
        self.run("kadmin.local", "ktadd", "-k", str(file), principal)
        return file

    def forwarded_tickets(self) -> int:
        """How many tickets the KDC has made for others to act in a user's name."""
        log = (self.folder / "kdc.log").read_text(encoding="utf-8")
        return sum("TGS_REQ" in line and f"for krbtgt/{REALM}@{REALM}" in line for line in log.splitlines())

    def user_keytab(self, name: str) -> pathlib.Path:
        file = self.folder / f"{name}.keytab"
        self.run("kadmin.local", "ktadd", "-norandkey", "-k", str(file), name)
        return file

    def ticket(self, name: str, lifetime: str = "1h", *options: str) -> str:
        """Gets a ticket and returns the name of its cache."""
        cache = f"{name}-{secrets.token_hex(4)}.cache"
        self.run("kinit", "-l", lifetime, *options, name, stdin=self.passwords[name] + "\n", cache=cache)
        return cache


@contextlib.contextmanager
def started(folder: pathlib.Path) -> Iterator[Realm]:
    """A realm whose KDC runs."""
    assert shutil.which("krb5kdc", path=PATH), "scripts/install_clients installs the KDC"
    realm = Realm(folder, free_port())
    realm.run("kdb5_util", "create", "-s", "-r", REALM, "-P", secrets.token_urlsafe(12))
    with open(folder / "kdc.out", "w", encoding="utf-8") as out:
        kdc = subprocess.Popen(["krb5kdc", "-n"], env=realm.environment(), stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            assert kdc.poll() is None, (folder / "kdc.out").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", realm.port), 1):
                break
            assert time.monotonic() < deadline, "the KDC does not answer"
            time.sleep(0.05)
        yield realm
    finally:
        kdc.terminate()
        kdc.wait(timeout=20)
