"""Runs the tests of the Python package against its wheel, in a fresh environment of each Python that is here.

    packaging/wheel_tests.py [--out dist] [--pythons 3.10,3.13] [-- PYTEST ARGUMENTS]

The tests lie in a folder without the package's sources, so that only the wheel can be imported. What they
need besides is installed from the package index. A wheel for arm64 is imported by qemu-user, loads
into its own server, and starts its command.
"""

import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

from foreign_wheels import prove_arm64
from release import ROOT
from wheels import pythons


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    reader.add_argument("--pythons", help="only these versions, with commas between them")
    reader.add_argument("pytest", nargs="*", help="arguments of pytest")
    arguments = reader.parse_args()
    wheels = sorted(arguments.out.resolve().glob(f"*manylinux*_{platform.machine()}.whl"))
    if not wheels:
        sys.exit(f"{arguments.out} has no wheel for this machine: make dist PARTS=wheels")
    wanted = arguments.pythons.split(",") if arguments.pythons else None
    wrong = 0
    for python in pythons():
        version = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if wanted and version not in wanted:
            continue
        failed = tests(wheels[-1], python, arguments.pytest)
        print(f"   {'FAILED' if failed else 'ok'}: {wheels[-1].name} in Python {version}", flush=True)
        wrong += failed
    for wheel in sorted(arguments.out.resolve().glob("*manylinux*_aarch64.whl")):
        if platform.machine() != "aarch64":
            with tempfile.TemporaryDirectory() as folder:
                problem = prove_arm64(wheel, pathlib.Path(folder))
            print(f"   {f'FAILED: {problem}' if problem else 'ok'}: {wheel.name} by qemu-user", flush=True)
            wrong += problem is not None
    return 1 if wrong else 0


def tests(wheel: pathlib.Path, python: pathlib.Path, arguments: list[str]) -> bool:
    """Whether the tests failed with this Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        venv = folder / "venv"
        subprocess.run([python, "-m", "venv", venv], check=True)
        pip = [venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        requirements = ROOT / "python" / "requirements-test.txt"
        subprocess.run([*pip, "-r", requirements, wheel], check=True)
        # Tests look for files of the project beside them.
        checkout = folder / "checkout"
        shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".git", "dist", "target", "fuzz"))
        shutil.rmtree(checkout / "python" / "bulkwire")
        known = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        known["PATH"] = f"{venv}/bin:{known['PATH']}"
        words = [venv / "bin/python", "-m", "pytest", "-q", "tests", *arguments]
        return subprocess.run(words, cwd=checkout / "python", env=known).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
