"""A token service of its own: issues signed tokens over TLS, and answers as Entra and Azure's machines do."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import http.server
import json
import pathlib
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator

import jwt
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

TENANT = "11111111-2222-3333-4444-555555555555"
APPLICATION = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
SECRET = "hunter2-of-the-application"
RESOURCE = "https://database.windows.net/"
PERSON = "ann@contoso.example"


@dataclasses.dataclass
class Request:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    fields: dict[str, str]


class TokenService:
    """Answers and what it has seen. `planned` answers come first, one for each request."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.public = folder / "issuer.pem"
        self.public.write_bytes(
            self.key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        self.authority = trustme.CA()
        self.trusted = folder / "authority.pem"
        self.authority.cert_pem.write_to_path(self.trusted)
        self.seen: list[Request] = []
        self.planned: list[tuple[int, dict[str, str], object]] = []
        self.lifetime_seconds = 3600
        self.silent = threading.Event()
        self.certificate: bytes | None = None
        self.base = ""
        self.plain = ""

    @property
    def issuer(self) -> str:
        return f"{self.base}/{TENANT}"

    def token(self, key: object = None, algorithm: str = "RS256", **claims: object) -> str:
        """A signed token; claims replace those of a good one, and None takes one away."""
        now = int(time.time())
        whole = {"iss": self.issuer, "aud": RESOURCE, "nbf": now - 5, "exp": now + self.lifetime_seconds}
        whole |= {"appid": APPLICATION, **claims}
        kept = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(kept, key if key is not None else self.key, algorithm=algorithm)

    def client_certificate(self) -> pathlib.Path:
        """A PEM file of the application."""
        issued = self.authority.issue_cert("application.example", key_type=trustme.KeyType.RSA)
        file = self.folder / "application.pem"
        issued.private_key_and_cert_chain_pem.write_to_path(file)
        self.certificate = issued.cert_chain_pems[0].bytes()
        return file

    def answer(self, request: Request) -> tuple[int, dict[str, str], object]:
        if self.silent.is_set():
            time.sleep(60)
        if self.planned:
            return self.planned.pop(0)
        granted = {"token_type": "Bearer", "expires_in": self.lifetime_seconds}
        path, fields = urllib.parse.urlsplit(request.path), request.fields
        if path.path == "/metadata/identity/oauth2/token" and request.headers.get("metadata") == "true":
            query = urllib.parse.parse_qs(path.query)
            client = query.get("client_id", ["machine"])[0]
            assert query["resource"] == [RESOURCE]
            # The metadata service says numbers as text.
            return 200, {}, granted | {"access_token": self.token(appid=client), "expires_in": "3600"}
        if path.path == "/metadata/identity/oauth2/token":
            return 400, {}, {"error": "invalid_request", "error_description": "Metadata header is missing"}
        if path.path == "/msi/token" and request.headers.get("x-identity-header") == "header-secret":
            end = str(int(time.time()) + 3600)
            return 200, {}, {"access_token": self.token(appid="service"), "expires_on": end}
        if path.path == f"/{TENANT}/oauth2/v2.0/devicecode":
            assert fields["scope"] == f"{RESOURCE}/.default offline_access"
            code = {"device_code": "device-secret", "user_code": "ABCD-1234", "interval": 1, "expires_in": 60}
            return 200, {}, code | {"verification_uri": "https://microsoft.example/device"}
        if path.path != f"/{TENANT}/oauth2/v2.0/token":
            return 404, {}, {"error": "not_found"}
        match fields.get("grant_type"):
            case "client_credentials" if self._is_application(fields):
                return 200, {}, granted | {"access_token": self.token(appid=fields["client_id"])}
            case "urn:ietf:params:oauth:grant-type:device_code" if fields["device_code"] == "device-secret":
                token = self.token(upn=PERSON)
                return 200, {}, granted | {"access_token": token, "refresh_token": "refresh-secret"}
            case "refresh_token" if fields["refresh_token"] == "refresh-secret":
                return 200, {}, granted | {"access_token": self.token(upn=PERSON)}
        return 401, {}, refusal()

    def _is_application(self, fields: dict[str, str]) -> bool:
        assert fields["scope"] == f"{RESOURCE}/.default"
        if "client_secret" in fields:
            return fields["client_secret"] == SECRET
        assertion = fields["client_assertion"]
        if assertion == "token-of-the-cluster":
            return True
        certificate = ssl.PEM_cert_to_DER_cert(self.certificate.decode())
        thumbprint = base64.urlsafe_b64encode(hashlib.sha1(certificate).digest()).rstrip(b"=").decode()
        assert jwt.get_unverified_header(assertion) == {"alg": "RS256", "typ": "JWT", "x5t": thumbprint}
        key = x509.load_der_x509_certificate(certificate).public_key()
        claims = jwt.decode(assertion, key, algorithms=["RS256"], audience=f"{self.issuer}/oauth2/v2.0/token")
        return claims["iss"] == claims["sub"] == fields["client_id"]


def refusal() -> dict[str, str]:
    """Entra's answer to a wrong secret."""
    return {
        "error": "invalid_client",
        "error_description": "AADSTS7000215: Invalid client secret provided.\r\nTrace ID: t-1",
        "correlation_id": "c-0123",
    }


@contextlib.contextmanager
def serving(folder: pathlib.Path) -> Iterator[TokenService]:
    """The service on two free ports: `base` with TLS, and `plain` without, as a metadata service has none."""
    service = TokenService(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.reply(dict(urllib.parse.parse_qsl(body)))

        def reply(self, fields: dict[str, str]) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, headers, fields)
            service.seen.append(request)
            status, headers, body = service.answer(request)
            text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            with contextlib.suppress(OSError):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    service.authority.issue_cert("localhost").configure_cert(context)
    secure, plain = (Server(("127.0.0.1", 0), Handler) for _ in range(2))
    secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
    service.base = f"https://localhost:{secure.server_port}"
    service.plain = f"http://127.0.0.1:{plain.server_port}"
    for server in (secure, plain):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield service
    finally:
        for server in (secure, plain):
            server.shutdown()
            server.server_close()
