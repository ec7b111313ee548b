"""Servers of objects: stores that others wrote, a web server with faults, a proxy that adds faults."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import email.utils
import hashlib
import hmac
import http.client
import http.server
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator

SECRET = "never-shown-3f9a1c"
START_SECONDS = 60


@dataclasses.dataclass
class Fault:
    """What happens to the first requests that fit: a status, a cut, a wait, a slow answer."""

    fits: Callable[[str, str, dict[str, str]], bool]
    times: int = 1
    status: int | None = None
    cut_at: int | None = None
    wait: float = 0.0
    rate: float | None = None

    def take(self, method: str, path: str, headers: dict[str, str]) -> bool:
        if self.times <= 0 or not self.fits(method, path, headers):
            return False
        self.times -= 1
        return True


def a_range(method: str, path: str, headers: dict[str, str]) -> bool:
    """Requests for more than the first byte."""
    return method == "GET" and "range" in headers and headers["range"] not in {"bytes=0-0"}


class Server(http.server.ThreadingHTTPServer):
    """Notes what it is asked for."""

    daemon_threads = True

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.lock = threading.Lock()

    def note(self, method: str, path: str, headers: dict[str, str]) -> Fault | None:
        with self.lock:
            self.requests.append((method, path, headers))
            return next((fault for fault in self.faults if fault.take(method, path, headers)), None)

    @property
    def port(self) -> int:
        return self.server_address[1]


def send(handler: http.server.BaseHTTPRequestHandler, body: bytes, fault: Fault | None) -> None:
    """Sends a body, with what the fault does to it."""
    if fault and fault.cut_at is not None:
        handler.wfile.write(body[: fault.cut_at])
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True
        return
    if fault and fault.rate:
        piece = 65536
        for start in range(0, len(body), piece):
            handler.wfile.write(body[start : start + piece])
            time.sleep(piece / fault.rate)
        return
    handler.wfile.write(body)


class Files(http.server.BaseHTTPRequestHandler):
    """Files from memory; `server.files` has their bytes, tags and times by path."""

    protocol_version = "HTTP/1.1"
    server: FileServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = self.server.note("GET", self.path, headers)
        if fault:
            time.sleep(fault.wait)
            if fault.status:
                self.answer(fault.status, b"trouble", {})
                return
        file = self.server.files.get(self.path.split("?")[0])
        if file is None:
            self.answer(404, b"nothing here", {})
            return
        body, tag, modified = file
        common = {}
        if tag:
            common["ETag"] = tag
        if modified:
            common["Last-Modified"] = modified
        if "if-match" in headers and headers["if-match"] != tag:
            self.answer(412, b"", common)
            return
        wanted = headers.get("range")
        if wanted and self.server.ranges:
            first, last = wanted.removeprefix("bytes=").split("-")
            start, end = int(first), min(int(last or len(body)), len(body) - 1)
            if start >= len(body):
                self.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
                return
            common["Content-Range"] = f"bytes {start}-{end}/{len(body)}"
            self.answer(206, body[start : end + 1], common, fault)
            return
        self.answer(200, body, common, fault)

    def answer(self, status: int, body: bytes, headers: dict[str, str], fault: Fault | None = None) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            send(self, body, fault)


class FileServer(Server):
    """A web server of files, with TLS if it has a certificate."""

    def __init__(self, context: ssl.SSLContext | None = None, ranges: bool = True) -> None:
        super().__init__(Files)
        self.ranges = ranges
        self.files: dict[str, tuple[bytes, str | None, str | None]] = {}
        self.scheme = "https" if context else "http"
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def put(self, path: str, body: bytes, tag: str | None = '"1"', modified: str | None = None) -> str:
        self.files[path] = (body, tag, modified)
        return f"{self.scheme}://localhost:{self.port}{path}"

    def handle_error(self, *_: object) -> None:
        pass


class Forward(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a store."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *_: object) -> None:
        pass

    def pass_on(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        length = int(headers.get("content-length", 0))
        body = self.rfile.read(length) if length else b""
        fault = self.server.note(self.command, self.path, headers)
        with contextlib.suppress(OSError):
            if fault:
                time.sleep(fault.wait)
                if fault.status:
                    self.send_response(fault.status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            to = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
            to.request(self.command, self.path, body, dict(self.headers.items()))
            answer = to.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {
                    "content-length",
                    "transfer-encoding",
                    "connection",
                    "date",
                    "server",
                }:
                    self.send_header(name, value)
            sent = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", sent or "0")
            self.end_headers()
            if self.command != "HEAD":
                send(self, content, fault)
            to.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on


class Proxy(Server):
    """Stands before a store."""

    def __init__(self, target: int) -> None:
        super().__init__(Forward)
        self.target = target

    def handle_error(self, *_: object) -> None:
        pass


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """S3's answers where the bucket is in another region: a redirect without a place."""

    protocol_version = "HTTP/1.1"
    server: OtherRegion

    def log_message(self, *_: object) -> None:
        pass

    def refuse(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.note(self.command, self.path, {})
        status, code, message, headers = self.server.answer
        body = (
            f"<?xml version='1.0'?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        )
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # S3 has no words for a look.
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = refuse


class OtherRegion(Server):
    """S3 in a region that has none of the buckets."""

    def __init__(self, answer: tuple[int, str, str, dict[str, str]]) -> None:
        super().__init__(Elsewhere)
        self.answer = answer


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def process(words: list[str | os.PathLike[str]], port: int, folder: pathlib.Path) -> Iterator[int]:
    """A server of objects by its command; it is up when its port answers."""
    with (folder / "server.log").open("wb") as log:
        started = subprocess.Popen(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                text = (folder / "server.log").read_text(errors="replace")
                assert started.poll() is None, f"{words[0]} has ended: {text}"
                assert time.monotonic() < deadline, f"{words[0]} does not answer: {text}"
                time.sleep(0.1)
        yield port
    finally:
        # They hold nothing, and some wait for connections that are kept open.
        started.kill()
        started.wait()


@contextlib.contextmanager
def moto(folder: pathlib.Path) -> Iterator[int]:
    """moto's server of S3."""
    port = free_port()
    with process(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port, folder
    ) as port:
        yield port


def s3_environment(port: int) -> dict[str, str]:
    """What the command needs to know of a server of S3."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }


def request(method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
    asked = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return answer.read()


# Azurite's account, which is the same everywhere and no secret.
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextlib.contextmanager
def azurite(cache: pathlib.Path, folder: pathlib.Path) -> Iterator[int]:
    """Microsoft's emulator of Blob Storage."""
    port = free_port()
    program = cache / "azurite" / "node_modules" / ".bin" / "azurite-blob"
    words = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--skipApiVersionCheck", "--silent"]
    with process([*words, "--location", folder], port, folder) as port:
        yield port


def azure_environment(port: int) -> dict[str, str]:
    return {
        "AZURE_STORAGE_ACCOUNT_NAME": AZURITE_ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": AZURITE_KEY,
        "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}",
    }


def azure_request(port: int, method: str, path: str, query: str = "", body: bytes = b"") -> bytes:
    """A request that is signed with the account's key, as Azure wants it."""
    now = email.utils.formatdate(usegmt=True)
    headers = {"x-ms-date": now, "x-ms-version": "2023-11-03"}
    if method == "PUT" and not query:
        headers["x-ms-blob-type"] = "BlockBlob"
    kind = "application/octet-stream" if body else ""
    named = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    parts = sorted(part.split("=") for part in query.split("&") if part)
    resource = f"/{AZURITE_ACCOUNT}/{AZURITE_ACCOUNT}{path}" + "".join(
        f"\n{name}:{value}" for name, value in parts
    )
    text = f"{method}\n\n\n{len(body) or ''}\n\n{kind}\n\n\n\n\n\n\n{named}{resource}"
    key = hmac.new(base64.b64decode(AZURITE_KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {AZURITE_ACCOUNT}:{base64.b64encode(key).decode()}"
    headers |= {"Content-Type": kind} if body else {"Content-Length": "0"}
    url = f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}{path}" + (f"?{query}" if query else "")
    return request(method, url, body or None, headers)


@contextlib.contextmanager
def google(program: pathlib.Path, folder: pathlib.Path) -> Iterator[int]:
    """A server of Google's protocol in memory."""
    port = free_port()
    words = [program, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    with process([*words, "-public-host", f"127.0.0.1:{port}"], port, folder) as port:
        yield port


class GoogleGate(Forward):
    """Speaks Google's XML interface before a server of S3.

    Uploads in parts, listings and looks are the same in both, as Google's reference says. Headers are not:
    who asks, numbers of generations, and the condition that there be no object yet.
    """

    server: Proxy

    def pass_on(self) -> None:
        if self.headers["Authorization"] != f"Bearer {SECRET}":
            self.refuse(401, "AuthenticationRequired")
            return
        del self.headers["Authorization"]
        # moto looks at who it is, and checks no signature.
        credential = "Credential=tester/20260301/us-east-1/s3/aws4_request"
        self.headers["Authorization"] = f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"
        if self.headers["x-goog-if-generation-match"] == "0":
            del self.headers["x-goog-if-generation-match"]
            self.headers["If-None-Match"] = "*"
        # Google takes keys whose every sign is written with a percent sign, moto those of S3's clients.
        path, mark, query = self.path.partition("?")
        self.path = urllib.parse.quote(urllib.parse.unquote(path)) + mark + query
        super().pass_on()

    def refuse(self, status: int, code: str) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = f"<Error><Code>{code}</Code><Message>Not here.</Message></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("x-goog-generation", "1")
        super().end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on


class GoogleProxy(Proxy):
    """Google's XML interface; it keeps its objects in a server of S3."""

    def __init__(self, target: int) -> None:
        super().__init__(target)
        self.RequestHandlerClass = GoogleGate


def google_environment(port: int) -> dict[str, str]:
    return {"GOOGLE_BASE_URL": f"http://127.0.0.1:{port}", "GOOGLE_BEARER_TOKEN": SECRET}
