"""The embedded server."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from . import _bulkwire
from ._connection import Connection, connect
from ._exceptions import UsageError


class Server:
    """A TDS server in threads of this process, for tests and local work. It is an independent implementation, not SQL Server.

        with bulkwire.Server() as server, bulkwire.connect(server.url) as db:
            db.execute("CREATE TABLE t (id int)")

    Args:
        data: a directory for the rows; without one they are in memory, and gone at the end.
        address: the address to listen on.
        port: the port; a free one without it.
        user: the login's name.
        password: its password; a random one without it.
        encryption: "off", "optional", "required" or "strict".
        sync: commits wait for the disk.
        discard: read and count bulk loads, but keep nothing.
        log_requests: print every request on standard error.
        max_connections: connections at one time.
        memory_limit: memory of the server in bytes; half of the machine's (or of its control group's) without it.
        restore: databases to make before the first connection, by name, each of a backup, data files or a package of SQL Server
            (`{"shop": "shop.bak"}`); a database of the name that is there is left as it is.
        init: T-SQL scripts (batches separated by GO) to run before the first connection.
        bulk_directories: directories below which BULK INSERT and OPENROWSET(BULK …) may read files.
        keytab: a file of keys with which Kerberos tickets are accepted (needs the system's Kerberos library).
        spn: the service's principal; any of the keytab without it.
        trusted_principals: who may log in with a ticket, `user@REALM`, where `*` stands for any characters.
        entra_key: a file of public keys (PEM or JSON Web Key Set) that verify access tokens of Microsoft Entra.
        entra_issuer: who has signed the tokens.
        entra_audiences: what the tokens are for; Azure SQL without it.
        entra_sign_in_url: where clients that ask get a token; at the issuer without it.
        entra_principals: users and applications that may log in with a token, where `*` stands for any characters.
        faults: a file of faults to inject, for tests of code that retries ("Test your retry code" in docs/serve.md).
        metrics_port: serve metrics and health over HTTP at this port of 127.0.0.1; 0 takes a free one.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        user: str = "sa",
        password: str | None = None,
        encryption: str = "optional",
        sync: bool = True,
        discard: bool = False,
        log_requests: bool = False,
        max_connections: int | None = None,
        memory_limit: int | None = None,
        restore: Mapping[str, str | os.PathLike[str]] | None = None,
        init: Sequence[str | os.PathLike[str]] = (),
        bulk_directories: Sequence[str | os.PathLike[str]] = (),
        keytab: str | os.PathLike[str] | None = None,
        spn: str | None = None,
        trusted_principals: Sequence[str] = (),
        entra_key: str | os.PathLike[str] | None = None,
        entra_issuer: str | None = None,
        entra_audiences: Sequence[str] = (),
        entra_sign_in_url: str | None = None,
        entra_principals: Sequence[str] = (),
        faults: str | os.PathLike[str] | None = None,
        metrics_port: int | None = None,
    ) -> None:
        if restore and (faults is not None or discard):
            raise UsageError("restore cannot go with faults or discard")
        if (keytab is None) != (not trusted_principals) or (spn is not None and keytab is None):
            raise UsageError("keytab needs trusted_principals, and they and spn need keytab")
        of_tokens = (entra_issuer, tuple(entra_audiences), entra_sign_in_url, tuple(entra_principals))
        if entra_key is None and any(of_tokens):
            raise UsageError("entra_issuer, entra_audiences, entra_sign_in_url and entra_principals need entra_key")
        if entra_key is not None and not (entra_issuer and entra_principals):
            raise UsageError("entra_key needs entra_issuer and entra_principals")
        self.user = user
        self.password = secrets.token_urlsafe(16) if password is None else password
        self._encryption = encryption
        self._native = _bulkwire.Server.start(
            data=data,
            address=address,
            port=port,
            user=user,
            password=self.password,
            encryption=encryption,
            sync=sync,
            discard=discard,
            log_requests=log_requests,
            max_connections=max_connections,
            memory_limit=memory_limit,
            restore=[(name, os.fspath(files)) for name, files in (restore or {}).items()],
            init=list(init),
            bulk_directories=list(bulk_directories),
            keytab=keytab,
            spn=spn,
            trusted_principals=list(trusted_principals),
            entra_key=entra_key,
            entra_issuer=entra_issuer,
            entra_audiences=list(entra_audiences),
            entra_sign_in_url=entra_sign_in_url,
            entra_principals=list(entra_principals),
            faults=faults,
            metrics_port=metrics_port,
        )

        # TDS 8 knows no trust without a certificate: the URL names a copy of it.
        self._pinned = self._write_certificate() if encryption == "strict" else None

    @property
    def host(self) -> str:
        """The address that it listens on."""
        return self._native.host

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._native.port

    @property
    def metrics_url(self) -> str | None:
        """Where Prometheus finds its metrics; None without `metrics_port`."""
        port = self._native.metrics_port
        return None if port is None else f"http://127.0.0.1:{port}/metrics"

    @property
    def url(self) -> str:
        """A URL for `bulkwire.connect`, password included."""
        return self.url_of("master")

    @property
    def certificate_pem(self) -> str | None:
        """Its self-signed certificate, for clients that pin it."""
        return self._native.certificate_pem

    def url_of(self, database: str) -> str:
        """A URL that starts in another database."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        options = "TrustServerCertificate=yes"
        if self._encryption == "off":
            options = "Encrypt=off"
        elif self._pinned is not None:
            options = f"Encrypt=strict&ServerCertificate={quote(self._pinned, safe='')}"
        user, password = quote(self.user, safe=""), quote(self.password, safe="")
        return f"mssql://{user}:{password}@{host}:{self.port}/{quote(database, safe='')}?{options}"

    def connect(self, database: str = "master") -> Connection:
        """Connect to it."""
        return connect(self.url_of(database))

    def stop(self) -> None:
        """Stop: open work is rolled back, the data is closed in order."""
        self._native.stop()
        if self._pinned is not None:
            os.unlink(self._pinned)
            self._pinned = None

    def close(self) -> None:
        """The same as `stop`."""
        self.stop()

    def _write_certificate(self) -> str:
        descriptor, path = tempfile.mkstemp(prefix="bulkwire-", suffix=".pem")
        with os.fdopen(descriptor, "w") as file:
            file.write(self._native.certificate_pem or "")
        return path

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<bulkwire.Server {self.host}:{self.port}>"
