"""What a user does on the first day, step by step, with programs of any platform."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

PASSWORD = "Try-it-0ut"
PEOPLE = 'id,name,born,balance\n1,Åsa Lindström,1984-02-29,1200.50\n2,"O\'Brien, Pat",,-3.25\n'
ROWS = 20_000


@dataclasses.dataclass
class Machine:
    """Where programs run, and how they are started there."""

    name: str
    # Starts a program of the platform: an emulator, or a change of root.
    prefix: list[str]
    # The folder of the programs, and of the files, as the programs see them.
    programs: str
    files: str
    # The same folder of files as this process sees it.
    folder: pathlib.Path
    suffix: str = ""
    separator: str = "/"
    seconds: int = 120
    # An emulator in `prefix` runs programs of a processor that this kernel does not start.
    emulated: bool = False

    def words(self, program: str, *arguments: str) -> list[str]:
        return [*self.prefix, f"{self.programs}{self.separator}{program}{self.suffix}", *arguments]

    def path(self, name: str) -> str:
        """A file as the programs name it."""
        return f"{self.files}{self.separator}{name}"


class Journey:
    """The steps on one machine. Each raises an error when something is not as it should be."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.known = {**os.environ, "BULKWIRE_PASSWORD": PASSWORD, "BULKWIRE_SERVER_PASSWORD": PASSWORD}
        self.known.pop("BULKWIRE_URL", None)

    def run(self, program: str, *arguments: str, status: int = 0) -> str:
        words = self.machine.words(program, *arguments)
        ended = subprocess.run(
            words,
            env=self.known,
            capture_output=True,
            timeout=self.machine.seconds,
            stdin=subprocess.DEVNULL,
        )
        out, errors = (part.decode("utf-8", "replace") for part in (ended.stdout, ended.stderr))
        if ended.returncode != status:
            raise AssertionError(f"{' '.join(words)}: exit code {ended.returncode}\n{out}{errors}")
        return out.replace("\r\n", "\n")

    def bulkwire(self, *arguments: str, status: int = 0) -> str:
        return self.run("bulkwire", *arguments, status=status)

    @contextlib.contextmanager
    def server(self, *arguments: str, stop: signal.Signals = signal.SIGINT) -> Iterator[None]:
        """A server on a free port. It must end well by the signal."""
        words = self.machine.words("bulkwire", "serve", "--port", "0", *arguments)
        started = subprocess.Popen(
            words, env=self.known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        watchdog = threading.Timer(self.machine.seconds, started.kill)
        watchdog.start()
        try:
            line = started.stdout.readline().decode()
            if "listening on" not in line:
                raise AssertionError(f"the server did not start: {line}{started.stderr.read().decode()}")
            self.known["BULKWIRE_URL"] = line.split()[-1] + "?TrustServerCertificate=true"
            yield
            started.send_signal(stop)
            ended = started.wait(self.machine.seconds)
            if ended != 0:
                raise AssertionError(f"the server ended with {ended}: {started.stderr.read().decode()}")
        finally:
            watchdog.cancel()
            started.kill()
            started.wait()

    def count(self, table: str) -> int:
        answer = self.bulkwire("query", f"SELECT COUNT(*) AS n FROM {table}", "--format", "csv")
        return int(answer.split()[1])

    # The steps.

    def say_versions(self) -> None:
        assert self.bulkwire("--version").startswith("bulkwire ")
        assert "--keytab" in self.bulkwire("serve", "--help")

    def load_and_export(self) -> None:
        machine = self.machine
        (machine.folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
        self.bulkwire("load", "dbo.people", machine.path("people.csv"), "--create")
        assert self.count("dbo.people") == 2
        assert "Lindström" in self.bulkwire("query", "SELECT name FROM dbo.people ORDER BY id")
        assert "balance" in self.bulkwire("describe", "dbo.people")
        self.bulkwire("export", "dbo.people", machine.path("people.parquet"))
        self.bulkwire("load", "dbo.again", machine.path("people.parquet"), "--create")
        self.same("dbo.people", "dbo.again")

    def load_many(self) -> None:
        rows = (f"{number},name {number},{number * 7919 % 10_007}\n" for number in range(ROWS))
        (self.machine.folder / "many.csv").write_text("id,name,amount\n" + "".join(rows))
        self.bulkwire("load", "dbo.many", self.machine.path("many.csv"), "--create", "--writers", "2")
        assert self.count("dbo.many") == ROWS
        self.bulkwire("export", "dbo.many", self.machine.path("many.csv.zst"))
        self.bulkwire("load", "dbo.many2", self.machine.path("many.csv.zst"), "--create")
        sums = "SELECT SUM(CAST(amount AS bigint)) AS s, COUNT(DISTINCT name) AS n FROM "
        one, other = (
            self.bulkwire("query", sums + table, "--format", "csv") for table in ("dbo.many", "dbo.many2")
        )
        assert one == other, (one, other)

    def copy_by_bcp(self) -> None:
        machine = self.machine
        server = self.known["BULKWIRE_URL"].split("@")[1].split("/")[0].replace(":", ",")
        login = ["-S", server, "-U", "sa", "-P", PASSWORD, "-u"]
        file = machine.path("people.bcp")
        self.run("bcp", "dbo.people", "out", file, "-n", *login)
        self.bulkwire("query", "SELECT * INTO dbo.by_bcp FROM dbo.people WHERE 1 = 0")
        self.run("bcp", "dbo.by_bcp", "in", file, "-n", *login)
        self.same("dbo.people", "dbo.by_bcp")
        self.run("bcp", "dbo.nothing", "out", file, "-n", *login, status=1)

    def read_code_pages(self) -> None:
        (self.machine.folder / "west.csv").write_bytes("id,name\n1,Ærøskøbing €\n".encode("cp1252"))
        self.bulkwire("load", "dbo.west", self.machine.path("west.csv"), "--create", "--encoding", "1252")
        assert "Ærøskøbing €" in self.bulkwire("query", "SELECT name FROM dbo.west", "--format", "csv")

    def transform(self) -> None:
        machine = self.machine
        target = machine.path("chosen.csv")
        source = machine.path("people.csv")
        chosen = ["--select", "UPPER(name) AS name", "--where", "born IS NOT NULL"]
        self.bulkwire("copy", source, target, *chosen)
        assert "ÅSA LINDSTRÖM" in (machine.folder / "chosen.csv").read_text(encoding="utf-8")

    def refuse_rows(self) -> None:
        (self.machine.folder / "bad.csv").write_text("id,name,born,balance\nx,y,,1\n3,z,,2\n")
        bad, rejects = self.machine.path("bad.csv"), self.machine.path("rejects.jsonl")
        self.bulkwire("load", "dbo.again", bad, "--rejects", rejects, "--max-errors", "5", status=3)
        assert self.count("dbo.again") == 3

    def write_pages(self) -> None:
        self.bulkwire("manual", self.machine.path("man"))
        assert (self.machine.folder / "man" / "bulkwire-load.1").is_file()
        assert "_bulkwire" in self.bulkwire("completions", "bash")

    def keep_rows(self) -> None:
        """Rows on disk are there after Ctrl-C and after SIGTERM."""
        data = self.machine.path("data")
        with self.server("--data", data):
            self.bulkwire("load", "dbo.people", self.machine.path("people.csv"), "--create")
        with self.server("--data", data, stop=self.other_signal()):
            assert self.count("dbo.people") == 2

    def other_signal(self) -> signal.Signals:
        return signal.SIGINT if self.machine.suffix else signal.SIGTERM

    def same(self, one: str, other: str) -> None:
        """Both tables have the same rows."""
        texts = [
            self.bulkwire("query", f"SELECT * FROM {table} ORDER BY id", "--format", "csv")
            for table in (one, other)
        ]
        assert texts[0] == texts[1], texts

    def all(self) -> list[tuple[str, str | None]]:
        """Every step with what went wrong."""
        done = [self.attempt(self.say_versions)]
        try:
            with self.server("--in-memory"):
                for step in (
                    self.load_and_export,
                    self.load_many,
                    self.copy_by_bcp,
                    self.read_code_pages,
                    self.transform,
                    self.refuse_rows,
                    self.write_pages,
                ):
                    done.append(self.attempt(step))
            done.append(("serve and stop", None))
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            done.append(("serve and stop", str(error)))
        done.append(self.attempt(self.keep_rows))
        return done

    def attempt(self, step: Callable[[], None]) -> tuple[str, str | None]:
        name = step.__name__.replace("_", " ")
        started = time.monotonic()
        try:
            step()
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as error:
            return name, str(error) or type(error).__name__
        return f"{name} ({time.monotonic() - started:.1f} s)", None
