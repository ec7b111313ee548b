"""A web server of files that gives each answer a latency, and each connection a rate, as object stores do."""

from __future__ import annotations

import contextlib
import http.server
import os
import pathlib
import threading
import time
from collections.abc import Iterator

#: Bytes between two looks at the clock.
PIECE = 256 << 10


class Answers(http.server.BaseHTTPRequestHandler):
    """Files of a folder; those below `/stream/` in one piece."""

    protocol_version = "HTTP/1.1"
    server: SlowFileServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        file = self.server.folder / name
        if not file.is_file():
            self.send_error(404)
            return
        size = file.stat().st_size
        start, end, status = 0, size, 200
        wanted = self.headers.get("Range")
        if wanted and not self.path.startswith("/stream/"):
            first, last = wanted.removeprefix("bytes=").split("-")
            start, end, status = int(first), min(int(last or size - 1) + 1, size), 206
        time.sleep(self.server.latency)
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("ETag", f'"{name}-{size}"')
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
            self.send_header("Content-Length", str(end - start))
            self.end_headers()
            self.wfile.flush()
            self.send_slowly(file, start, end)

    def send_slowly(self, file: pathlib.Path, start: int, end: int) -> None:
        began, rate, at = time.perf_counter(), self.server.rate, start
        with file.open("rb") as source:
            while at < end:
                sent = os.sendfile(self.connection.fileno(), source.fileno(), at, min(PIECE, end - at))
                if sent == 0:
                    return
                at += sent
                ahead = (at - start) / rate - (time.perf_counter() - began) if rate else 0
                if ahead > 0:
                    time.sleep(ahead)


class SlowFileServer(http.server.ThreadingHTTPServer):
    """Files of a folder, after `latency` seconds and at `rate` bytes a second; 0 stands for no limit."""

    daemon_threads = True

    def __init__(self, folder: pathlib.Path, latency: float, rate: float) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.folder, self.latency, self.rate = folder, latency, rate

    def handle_error(self, *_: object) -> None:
        pass

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


@contextlib.contextmanager
def serve_slowly(folder: pathlib.Path, latency: float, rate: float) -> Iterator[SlowFileServer]:
    """Runs such a server in a thread."""
    server = SlowFileServer(folder, latency, rate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
