"""Makes Wine ready for programs that Rust has compiled: `packaging/wine.py` says how it is started."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Rust's programs take random numbers from a library that Wine before 9 lacks.
LIBRARY = "bcryptprimitives.dll"
SOURCE = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    return SystemFunction036(data, size);
}
"""
COMPILER = "x86_64-w64-mingw32-gcc"
SECONDS = 600


class Unready(Exception):
    """Why nothing can be run."""


def prefix() -> pathlib.Path:
    """Where Wine keeps its drive C."""
    return pathlib.Path(os.environ.get("WINEPREFIX", pathlib.Path.home() / ".cache/bulkwire/wine"))


def ready() -> tuple[str, dict[str, str]]:
    """The program that runs others, and the variables that it needs. `Unready` says what is missing."""
    wine = shutil.which("wine64") or shutil.which("wine")
    if not wine:
        raise Unready("Wine is not installed")
    home = prefix()
    variables = {"WINEPREFIX": str(home), "WINEDEBUG": "-all"}
    home.parent.mkdir(parents=True, exist_ok=True)
    known = {**os.environ, **variables}
    started = subprocess.run([wine, "wineboot", "--init"], env=known, capture_output=True, timeout=SECONDS)
    if started.returncode != 0:
        raise Unready(f"Wine does not start (exit code {started.returncode})")
    system = home / "drive_c" / "windows" / "system32"
    # A prefix that is new is still being filled when wineboot ends.
    subprocess.run(["wineserver", "-w"], env=known, capture_output=True, timeout=SECONDS)
    if not (system / LIBRARY).exists():
        add_library(system)
    return wine, variables


def add_library(system: pathlib.Path) -> None:
    if not shutil.which(COMPILER):
        raise Unready(f"this Wine has no {LIBRARY}, and {COMPILER} is not installed, which would make one")
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder) / "random.c", pathlib.Path(folder) / LIBRARY
        source.write_text(SOURCE)
        subprocess.run([COMPILER, "-shared", "-o", made, source, "-ladvapi32"], check=True)
        shutil.copy(made, system / LIBRARY)


def main() -> int:
    try:
        wine, variables = ready()
    except Unready as reason:
        print(reason, file=sys.stderr)
        return 1
    print(*(f"{name}={value}" for name, value in variables.items()), wine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
