"""Wheels in fresh environments of each Python that is here, without a network."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from release import Release

# The server, a load and a query, with what Python itself has.
LOAD = """
import pathlib
import bulkwire

with bulkwire.Server() as server, bulkwire.connect(server.url, password=server.password) as db:
    pathlib.Path("people.csv").write_text("id,name\\n1,Åsa\\n2,Pat\\n", encoding="utf-8")
    report = db.load("dbo.people", "people.csv", create=True)
    assert report.rows == 2, report
    rows = db.execute("SELECT COUNT(*) AS n FROM dbo.people")
"""
# The same, and the command beside the interpreter.
SCRIPT = f"""{LOAD}
import subprocess, sys
command = pathlib.Path(sys.executable).with_name("bulkwire")
print(subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip())
"""
OLDEST = (3, 10)


def prove_wheels(release: Release) -> int:
    machine = platform.machine()
    wrong = 0
    for wheel in sorted(release.out.glob("*.whl")):
        if not re.search(rf"manylinux\w*_{machine}", wheel.name):
            print(f"-- {wheel.name}: linked, not run: this system is another")
            continue
        for python in pythons():
            problem = prove_wheel(wheel, python)
            said = f"FAILED: {problem}" if problem else "ok"
            print(f"   {said}: {wheel.name} in {python}")
            wrong += problem is not None
    if not list(release.out.glob("*.whl")):
        print("-- wheels: skipped, not built")
    return wrong


def pythons() -> list[pathlib.Path]:
    """One interpreter of each version that the package supports."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 20)]
    found = [pathlib.Path(path) for name in names if (path := shutil.which(name))]
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found += sorted(versions.glob("3.*/bin/python3"))
    chosen: dict[str, pathlib.Path] = {}
    for python in [*found, pathlib.Path(sys.executable)]:
        asked = subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
        )
        version = tuple(map(int, asked.stdout.split())) if asked.returncode == 0 else (0, 0)
        if version >= OLDEST:
            chosen.setdefault(asked.stdout, python)
    return list(chosen.values())


def prove_wheel(wheel: pathlib.Path, python: pathlib.Path) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        venv = pathlib.Path(folder) / "venv"
        steps = [
            [python, "-m", "venv", venv],
            [venv / "bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel],
            [venv / "bin/python", "-c", SCRIPT],
        ]
        for step in steps:
            ended = subprocess.run(step, cwd=folder, capture_output=True, text=True, timeout=300)
            if ended.returncode != 0:
                return (ended.stdout + ended.stderr).strip()
    return None
