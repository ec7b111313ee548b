"""Packages of steps, run from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from ._bulkwire import run_package_words
from ._exceptions import Error

Outcome = Literal["succeeded", "failed", "in doubt", "skipped", "done before"]


@dataclass(frozen=True)
class TaskReport:
    """What one task of a package did.

    Attributes:
        task: its name, with those of the groups around it: `publish/swap`; in a loop `load[2]`.
        type: the word of its kind.
        outcome: how it ended.
        seconds: how long it took.
        attempts: how often it ran.
        rows: rows that it moved or changed, `None` if it has none.
        refused: rows that it refused.
        item: what it ran for, in a loop.
        message: why it failed or did not run.
        notes: what else it says.
    """

    task: str
    type: str
    outcome: Outcome
    seconds: float
    attempts: int = 0
    rows: int | None = None
    refused: int = 0
    item: str | None = None
    message: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PackageReport:
    """What a run of a package did.

    Attributes:
        run: names the run.
        package: the package's name.
        start: when the run first began.
        continued: whether it went on where an earlier one had stopped.
        outcome: how it ended.
        seconds: how long it took this time.
        tasks: its tasks, in the order in which they ended.
    """

    run: str
    package: str
    start: str
    continued: bool
    outcome: Outcome
    seconds: float
    tasks: list[TaskReport]

    @property
    def ok(self) -> bool:
        """Whether every task is done or was skipped."""
        return self.outcome in ("succeeded", "done before")

    @property
    def rows(self) -> int:
        """Rows that all tasks moved or changed."""
        return sum(task.rows or 0 for task in self.tasks)

    @property
    def refused(self) -> int:
        """Rows that all tasks refused."""
        return sum(task.refused for task in self.tasks)

    @property
    def errors(self) -> dict[str, str]:
        """Why tasks failed, by their names."""
        failed = (task for task in self.tasks if task.outcome in ("failed", "in doubt"))
        return {task.task: task.message or task.outcome for task in failed}

    def raise_for_failure(self) -> None:
        """Raise `PackageError` if the run failed."""
        if not self.ok:
            raise PackageError(self)


@dataclass(frozen=True)
class PlannedTask:
    """A task as it would run.

    Attributes:
        task: its name with those of the groups around it.
        type: the word of its kind.
        when: when it runs.
        settings: its keys and their values, without secrets.
        plan: the choices that a copy would make.
        without_plan: why a copy has no plan yet.
        left_out: whether `from_` and `only` leave it out.
    """

    task: str
    type: str
    when: list[str]
    settings: dict[str, str]
    plan: list[str]
    without_plan: str | None
    left_out: bool


@dataclass(frozen=True)
class PackagePlan:
    """A package as it would run.

    Attributes:
        variables: variables with the values that they would have.
        connections: connections by name, without secrets.
        tasks: the tasks, each behind those that it waits for.
    """

    variables: dict[str, str]
    connections: dict[str, str]
    tasks: list[PlannedTask]


class PackageError(Error):
    """Tasks of a package failed.

    Attributes:
        report: what the run did.
    """

    def __init__(self, report: PackageReport) -> None:
        text = "; ".join(f"{task}: {message}" for task, message in report.errors.items())
        super().__init__(f"package {report.package} {report.outcome}: {text}")
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.report,), self.__dict__


@overload
def run_package(
    path: str | os.PathLike[str],
    *,
    set: Mapping[str, object] | None = None,
    only: str | Sequence[str] = (),
    from_: str | Sequence[str] = (),
    jobs: int | None = None,
    new: bool = False,
    continue_: bool = False,
    redo: str | Sequence[str] = (),
    done: str | Sequence[str] = (),
    state: str | os.PathLike[str] | None = None,
    log: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    dry_run: Literal[False] = False,
    on_event: Callable[[dict[str, Any]], object] | None = None,
) -> PackageReport: ...


@overload
def run_package(
    path: str | os.PathLike[str],
    *,
    set: Mapping[str, object] | None = None,
    only: str | Sequence[str] = (),
    from_: str | Sequence[str] = (),
    dry_run: Literal[True],
) -> PackagePlan: ...


def run_package(
    path: str | os.PathLike[str],
    *,
    set: Mapping[str, object] | None = None,
    only: str | Sequence[str] = (),
    from_: str | Sequence[str] = (),
    jobs: int | None = None,
    new: bool = False,
    continue_: bool = False,
    redo: str | Sequence[str] = (),
    done: str | Sequence[str] = (),
    state: str | os.PathLike[str] | None = None,
    log: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    on_event: Callable[[dict[str, Any]], object] | None = None,
) -> PackageReport | PackagePlan:
    """Run a package, with the words of `bulkwire run`, in this process.

    Other Python threads go on meanwhile. Ctrl-C ends the run: statements under way are cancelled, and the same call goes on
    where it stopped.

        >>> import bulkwire
        >>> bulkwire.run_package("orders.toml", set={"day": "2026-11-23"}).raise_for_failure()  # doctest: +SKIP

    Args:
        path: the package, a TOML file.
        set: values for its variables.
        only: run these tasks alone, and take all others as done.
        from_: run these tasks and everything behind them.
        jobs: tasks that work at once.
        new: begin again, whatever an earlier run has left undone.
        continue_: go on although variables or done tasks have changed since.
        redo: tasks to run again in whose middle a run was killed.
        done: tasks to take as done in whose middle a run was killed.
        state: where the run notes what is done; beside the package by default.
        log: append what happens to this file, a JSON object a line.
        report: write a page about the run to this file.
        dry_run: look at both ends of every copy, change nothing, and return the plan.
        on_event: called with what happens, as a line of the log has it.

    Returns:
        The report, also of a run that failed; of a dry run the plan.

    Raises:
        UsageError: the package or an option is wrong, or another run is under way; nothing ran.
    """
    given = {
        "only": only,
        "from": from_,
        "jobs": jobs,
        "new": new,
        "continue": continue_,
        "redo": redo,
        "done": done,
        "state": state,
        "log": log,
        "report": report,
        "dry_run": dry_run,
    }
    words = [word for name, value in given.items() for word in _words(name, value)]
    words += [f"--set={name}={value}" for name, value in (set or {}).items()]
    heard = None if on_event is None else lambda text: on_event(json.loads(text))
    found = json.loads(run_package_words([*words, "--", os.fspath(path)], heard))
    if dry_run:
        return PackagePlan(found["variables"], found["connections"], [PlannedTask(**task) for task in found["tasks"]])
    tasks = [
        TaskReport(
            task["task"],
            task["type"],
            task["outcome"],
            task["seconds"],
            task.get("attempts", 0),
            task.get("rows"),
            task.get("refused", 0),
            task.get("for"),
            task.get("message"),
            task.get("notes", []),
        )
        for task in found.pop("tasks")
    ]
    return PackageReport(**found, tasks=tasks)


def _words(name: str, value: Any) -> list[str]:
    """The words of an option; none if it is not given."""
    flag = "--" + name.replace("_", "-")
    if value is None or value is False or value in ((), [], {}):
        return []
    if value is True:
        return [flag]
    if isinstance(value, Mapping):
        return [f"{flag}={left}={right}" for left, right in value.items()]
    if not isinstance(value, str) and isinstance(value, Sequence):
        return [f"{flag}={','.join(str(item) for item in value)}"]
    return [f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}"]
