"""What can go wrong. Every exception of this package is a `bulkwire.Error`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Error(Exception):
    """The base class of all exceptions of this package.

    Attributes:
        rows_committed: for a load that failed, the rows that are known to be committed.
        rows_in_doubt: for a load that failed, the rows of its last batch if it is not known whether they were committed, else 0.
        failed_rows: for a load that failed, the rows of the source (counted from 0) that were in the batch rolled back.
    """

    rows_committed: int | None = None
    rows_in_doubt: int | None = None
    failed_rows: range | None = None


class ConfigError(Error, ValueError):
    """The connection string or a keyword argument cannot be used."""


class UsageError(Error, ValueError):
    """A wrong call: an unknown option, a closed connection, data that is not Arrow."""


class ConnectError(Error, ConnectionError):
    """No TCP connection, no TLS session, or a connection that broke."""


class TlsError(ConnectError):
    """No TLS session: the certificate, usually."""


class BrokenConnectionError(ConnectError):
    """The connection broke during a request; open a new one."""


class InDoubtError(ConnectError):
    """The answer to a commit, or to statements that commit by themselves, was lost: it is not known whether they took effect."""


class TransactionEndedError(Error):
    """The open transaction has ended before its time: the server rolled it back after an error, or a statement ended it.

    Nothing more is done on the connection until the block of `transaction()`, or the driver's `commit` or `rollback`, has ended too.
    """


class TimedOutError(Error, TimeoutError):
    """The server was silent for longer than the connection's command time-out."""


class CancelledError(Error):
    """The request was cancelled."""


@dataclass(frozen=True)
class ServerMessage:
    """One message of the server.

    Attributes:
        number: the message number, as in `sys.messages`.
        state: where in the server it was raised, 0 to 255.
        severity: its class: 0 to 10 for information, 11 to 16 for errors of the user, 17 and above for trouble.
        line: line of the batch or procedure, from 1; 0 when it has none.
        text: the message.
        procedure: the procedure that raised it, or "".
        server: the server's name.
    """

    number: int
    state: int
    severity: int
    line: int
    text: str
    procedure: str = ""
    server: str = ""


class ServerError(Error):
    """The server answered with an error. `number`, `state`, `severity`, `line`, `procedure` and `server` are those of the
    first of its `messages`; severity is what T-SQL also calls the class, and can be read under both names.
    """

    def __init__(self, text: str, messages: list[ServerMessage]) -> None:
        super().__init__(text)
        self.messages = messages
        first = messages[0]
        self.number = first.number
        self.state = first.state
        self.severity = first.severity
        self.line = first.line
        self.procedure = first.procedure
        self.server = first.server

    def __reduce__(self) -> tuple[Any, ...]:
        # Engines bring exceptions from one process to another.
        return type(self), (str(self), self.messages), self.__dict__

    def __getattr__(self, name: str) -> int:
        if name in ("class", "class_"):
            return self.severity
        raise AttributeError(name)


class LoginError(ServerError):
    """The server refused the login."""


class LoginRefusedError(Error):
    """This client did not log in: the server asks for something that is not allowed or not possible."""


class ProtocolError(Error):
    """The server sent something that is not TDS as published."""


class PlanError(Error, ValueError):
    """Source and target cannot be brought together: names, types, an identity."""


class NoTableError(PlanError):
    """The table does not exist, or this login may not see it."""


class CellError(Error, ValueError):
    """A value does not fit its column.

    Attributes:
        row: row of the source, counted from 0.
        column: name of the target column.
        value: the value as text, shortened.
        reason: what is wrong with it, and the option that would accept it, if there is one.
    """

    def __init__(self, text: str, row: int, column: str, value: str, reason: str) -> None:
        super().__init__(text)
        self.row = row
        self.column = column
        self.value = value
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.row, self.column, self.value, self.reason), self.__dict__


class FormError(Error, ValueError):
    """A value of a result does not fit the form in which it was asked for; another form of `read` holds it.

    Attributes:
        row: row of the result, counted from 0.
        column: name of the column.
    """

    def __init__(self, text: str, row: int, column: str) -> None:
        super().__init__(text)
        self.row = row
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.row, self.column), self.__dict__


class SourceError(Error):
    """Reading the data that was to be loaded failed."""


class CountMismatchError(Error):
    """The server's row count differs from the rows that were sent. The batch was rolled back unless it says otherwise."""
