"""A line to a server that breaks behind a COMMIT, so that its answer is lost.

    python breaking_line.py HOST PORT COMMITS

listens on a port of its own and prints it. The first connection is cut behind its COMMITS-th request to
commit, which still reaches the server. Later connections work. The first one must not be encrypted.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

TRANSACTION_REQUEST, COMMIT = 0x0E, 7
# The request's type follows the packet's header and the headers of all requests (MS-TDS 2.2.6.9).
REQUEST_TYPE = 22


@contextlib.contextmanager
def breaking_line(host: str, port: int, commits: int = 1) -> Iterator[int]:
    """The port of a line to the server."""
    process = subprocess.Popen(
        [sys.executable, __file__, host, str(port), str(commits)], stdout=subprocess.PIPE, text=True
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _cut(client: socket.socket, server: socket.socket, commits: int) -> None:
    """Passes packets on; after the last COMMIT the client hears nothing more."""
    with contextlib.suppress(OSError), client.makefile("rb") as packets:
        while len(header := packets.read(8)) == 8:
            payload = packets.read(int.from_bytes(header[2:4], "big") - 8)
            commits -= header[0] == TRANSACTION_REQUEST and payload[REQUEST_TYPE] == COMMIT
            if commits == 0:
                client.shutdown(socket.SHUT_RDWR)
            server.sendall(header + payload)
            if commits == 0:
                break
    with contextlib.suppress(OSError):
        server.shutdown(socket.SHUT_WR)


def _serve(host: str, port: int, commits: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    is_first = True
    while True:
        client, _ = listener.accept()
        server = socket.create_connection((host, port))
        upwards = (_cut, (client, server, commits)) if is_first else (_pass_on, (client, server))
        is_first = False
        for target, arguments in (upwards, (_pass_on, (server, client))):
            threading.Thread(target=target, args=arguments, daemon=True).start()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
