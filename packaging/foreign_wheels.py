"""Wheels for arm64 Linux in Debian's Python of that processor, by qemu-user.

The root directory comes from debootstrap. No program of it is run but the interpreter, so that a kernel that
starts no foreign programs is enough.
"""

import pathlib
import shutil
import subprocess
import zipfile

from wheels import LOAD

RELEASE = "bookworm"
PYTHON = "python3.11"
PACKAGES = ("libpython3.11-stdlib", "python3.11-minimal", "libssl3", "libffi8", "libexpat1")
COMMAND = """
import sys
from bulkwire._command import main

sys.argv = ["bulkwire", "--version"]
main()
"""


def prove_arm64(wheel: pathlib.Path, folder: pathlib.Path) -> str | None:
    """Imports the wheel, loads into its server, starts its command. Returns what went wrong, if anything."""
    root = folder / "root"
    emulator = shutil.which("qemu-aarch64-static")
    if not emulator or not shutil.which("debootstrap"):
        return "needs qemu-aarch64-static and debootstrap"
    if not root.is_dir():
        make_root(root)
    shutil.copy(emulator, root / "emulator")
    site = root / "site"
    shutil.rmtree(site, ignore_errors=True)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    for script in (LOAD, COMMAND):
        words = ["chroot", root, "/emulator", "-E", "PYTHONPATH=/site", f"/usr/bin/{PYTHON}", "-c", script]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
        if ended.returncode != 0:
            return (ended.stdout + ended.stderr).strip()
    return None


def make_root(root: pathlib.Path) -> None:
    """Unpacks Debian's packages; their scripts do not run, so nothing is configured."""
    words = ["debootstrap", "--foreign", "--arch=arm64", "--variant=minbase"]
    subprocess.run(
        [*words, f"--include={','.join(PACKAGES)}", RELEASE, root], check=True, stdout=subprocess.DEVNULL
    )
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"'
        subprocess.run(["sh", "-c", unpack, "sh", package, root], check=True)
