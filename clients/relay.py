"""A relay that keeps what a client sent, to see how much of it was encrypted."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import threading
from collections.abc import Iterator

PRELOGIN, LOGIN7 = 0x12, 0x10
TLS_RECORDS = range(0x14, 0x18)


class Relay:
    """Listens on a port of its own and passes every connection on."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sent: list[bytearray] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.getsockname()[1]

    def close(self) -> None:
        """Accepts no more; connections go on until their ends close them."""
        self._listener.close()

    def encryption(self, connection: int = 0) -> str:
        """`none`, `login`, `full` or `strict`, judged by the client's own bytes."""
        return encryption_of(bytes(self._sent[connection]))

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sent.append(sent := bytearray())
                for source, sink, kept in ((client, server, sent), (server, client, None)):
                    threading.Thread(target=self._pump, args=(source, sink, kept), daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket, kept: bytearray | None) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if kept is not None:
                    kept += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relayed(server) -> Iterator[tuple[object, Relay]]:
    """The endpoint as seen through a relay, and the relay."""
    relay = Relay(server.host, server.port)
    try:
        yield dataclasses.replace(server, host="127.0.0.1", port=relay.port), relay
    finally:
        relay.close()


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
