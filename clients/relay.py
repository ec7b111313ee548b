"""A relay that keeps what a client sent, to see how much of it was encrypted.

    python relay.py HOST PORT FOLDER

listens on a port of its own, prints it, passes connections on and writes what the N-th client sent to
FOLDER/N. It runs as a program because some clients hold Python's interpreter lock while they wait.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

PRELOGIN, LOGIN7 = 0x12, 0x10
TLS_RECORDS = range(0x14, 0x18)


@dataclasses.dataclass(frozen=True)
class Relay:
    """A running relay."""

    port: int
    folder: pathlib.Path

    def sent(self, connection: int = 0) -> bytes:
        """What the client has sent on a connection so far."""
        return (self.folder / str(connection)).read_bytes()

    def encryption(self, connection: int = 0) -> str:
        """`none`, `login`, `full` or `strict`, judged by the client's own bytes."""
        return encryption_of(self.sent(connection))


@contextlib.contextmanager
def relayed(server) -> Iterator[tuple[object, Relay]]:
    """The endpoint as seen through a relay, and the relay."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, __file__, server.host, str(server.port), folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            port = int(process.stdout.readline())
            yield dataclasses.replace(server, host="127.0.0.1", port=port), Relay(port, pathlib.Path(folder))
        finally:
            process.kill()
            process.wait()


def encryption_of(sent: bytes) -> str:
    """Reads the packets of TDS 7.x up to LOGIN7 and the TLS records around it (MS-TDS 2.2.1, 2.2.6.5)."""
    if sent[0] in TLS_RECORDS:
        return "strict"
    position = 0
    while sent[position] == PRELOGIN:
        position += int.from_bytes(sent[position + 2 : position + 4], "big")
    if sent[position] == LOGIN7:
        return "none"
    while position < len(sent) and sent[position] in TLS_RECORDS:
        position += 5 + int.from_bytes(sent[position + 3 : position + 5], "big")
    return "login" if position < len(sent) else "full"


def _pump(source: socket.socket, sink: socket.socket, kept: pathlib.Path | None) -> None:
    with contextlib.suppress(OSError), contextlib.ExitStack() as files:
        file = files.enter_context(kept.open("wb", buffering=0)) if kept else None
        while data := source.recv(65536):
            if file:
                file.write(data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _serve(host: str, port: int, folder: pathlib.Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    connection = 0
    while True:
        client, _ = listener.accept()
        server = socket.create_connection((host, port))
        for source, sink, kept in ((client, server, folder / str(connection)), (server, client, None)):
            threading.Thread(target=_pump, args=(source, sink, kept), daemon=True).start()
        connection += 1


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]))
