"""Runs what `make dist` built where it would run, and says what could not be run here.

    packaging/prove.py [--out dist] [TARGET ...]

- x86-64 and arm64 Linux: in a root directory with nothing but the programs, in a network of their own
  without a way out; a foreign processor by qemu-user;
- Windows: by Wine; macOS: nothing here runs it;
- packages: unpacked and compared with what they should install;
- wheels: in fresh environments of each Python that is here, without a network.
"""

import argparse
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import wine
from journey import Journey, Machine
from platforms import PROGRAMS as PLATFORMS
from platforms import Platform
from release import ROOT, Release
from wheels import prove_wheels

INSIDE = "BULKWIRE_WITHOUT_NETWORK"


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("targets", nargs="*", default=[*PLATFORMS, "packages", "wheels"])
    reader.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    arguments = reader.parse_args()
    leave_network()
    release = Release(arguments.out.resolve(), pathlib.Path())
    wrong = check_sums(release)
    for target in arguments.targets:
        if target == "wheels":
            wrong += prove_wheels(release)
        elif target == "packages":
            wrong += prove_packages(release)
        else:
            wrong += prove(release, PLATFORMS[target])
    print("proved" if not wrong else f"{wrong} steps failed")
    return 1 if wrong else 0


def leave_network() -> None:
    """Starts this script again where loopback is all the network there is."""
    if os.environ.get(INSIDE) or platform.system() != "Linux":
        return
    inner = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv]
    for unshare in (["unshare", "-n"], ["unshare", "-rn"]):
        if subprocess.run([*unshare, "ip", "link", "set", "lo", "up"], capture_output=True).returncode == 0:
            os.execvpe("unshare", [*unshare, *inner], {**os.environ, INSIDE: "1"})
    print("-- skipped: a network without a way out (no permission)")


def check_sums(release: Release) -> int:
    """SHA256SUMS tells the truth."""
    wrong = 0
    for line in (release.out / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        if hashlib.sha256((release.out / name).read_bytes()).hexdigest() != digest:
            print(f"   FAILED: SHA256SUMS of {name}")
            wrong += 1
    return wrong


def prove(release: Release, target: Platform) -> int:
    archive = release.out / f"{release.name(target.triple)}{target.archive_suffix}"
    if not archive.is_file():
        print(f"-- {target.triple}: skipped, not built")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        unpack(archive, root)
        machine = machine_of(release, target, root)
        if isinstance(machine, str):
            print(f"-- {target.triple}: linked, not run: {machine}")
            return 0
        print(f"== {target.triple}: {machine.name}", flush=True)
        done = Journey(machine).all()
    for step, problem in done:
        print(f"   {'FAILED' if problem else 'ok'}: {step}{': ' + problem if problem else ''}", flush=True)
    return sum(problem is not None for _, problem in done)


def unpack(archive: pathlib.Path, root: pathlib.Path) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(root)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="tar")


def machine_of(release: Release, target: Platform, root: pathlib.Path) -> Machine | str:
    """How the programs of a target are run here, or why they cannot be."""
    name = release.name(target.triple)
    if target.system == "linux":
        return linux(target, root, name)
    if target.system == "windows":
        return windows(root, name)
    if platform.system() == "Darwin" and platform.machine() in (target.rpm, target.debian):
        files = root / "files"
        files.mkdir()
        return Machine("this machine", [], str(root / name / "bin"), str(files), files)
    return "nothing here runs programs of macOS"


def linux(target: Platform, root: pathlib.Path, name: str) -> Machine | str:
    files = root / "files"
    files.mkdir()
    # Programs find time, memory and processors there.
    bare = ["chroot", str(root)]
    if target.runs_here:
        if os.geteuid() != 0:
            return Machine("without a bare root (no permission)", [], f"{root}/{name}/bin", str(files), files)
        add_libraries(root, root / name / "bin" / "bulkwire")
        return Machine("a root with nothing else in it", bare, f"/{name}/bin", "/files", files)
    if target.c_library == "gnu":
        return f"no glibc of {target.rpm} is here"
    emulator = shutil.which(f"qemu-{target.rpm}-static") or shutil.which(f"qemu-{target.rpm}")
    if not emulator:
        return f"qemu-{target.rpm}-static is not installed"
    if os.geteuid() == 0 and emulator.endswith("-static"):
        shutil.copy(emulator, root / "emulator")
        prefix = [*bare, "/emulator"]
        return Machine(
            "qemu-user in a bare root", prefix, f"/{name}/bin", "/files", files, seconds=600, emulated=True
        )
    programs = f"{root}/{name}/bin"
    return Machine("qemu-user", [emulator], programs, str(files), files, seconds=600, emulated=True)


def add_libraries(root: pathlib.Path, program: pathlib.Path) -> None:
    """Copies the C library that a program is linked to; a static one needs none."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        place = root / library.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)


def windows(root: pathlib.Path, name: str) -> Machine | str:
    try:
        program, variables = wine.ready()
    except wine.Unready as reason:
        return str(reason)
    os.environ |= variables
    # Paths with a drive letter, backslashes and spaces, as users have them.
    files = wine.prefix() / "drive_c" / "bulkwire files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    programs = "Z:" + str(root / name / "bin").replace("/", "\\")
    return Machine("Wine", [program], programs, "C:\\bulkwire files", files, ".exe", "\\", 300)


def prove_packages(release: Release) -> int:
    """Installs the .deb with a root of its own, and reads the others with the tools that are here."""
    wrong = 0
    debian = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
    package = release.out / f"bulkwire_{release.version}-1_{debian}.deb"
    if package.is_file() and shutil.which("dpkg-deb"):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
            wrong += prove_installed(release, root, package.name)
    else:
        print("-- packages: skipped the .deb (not built, or no dpkg-deb)")
    for package in sorted(release.out.glob("*.rpm")):
        if not shutil.which("rpm"):
            print(f"-- {package.name}: skipped, rpm is not installed")
            continue
        checked = subprocess.run(
            ["rpm", "--checksig", "--nosignature", package], capture_output=True, text=True
        )
        listed = subprocess.run(["rpm", "-qpl", "--nosignature", package], capture_output=True, text=True)
        sound = checked.returncode == 0 and "/usr/bin/bulkwire" in listed.stdout
        print(f"   {'ok' if sound else 'FAILED'}: {package.name} (digests and files, not installed)")
        wrong += not sound
    for package in sorted(release.out.glob("*.apk")):
        # Three gzip streams in a row, which tar reads as one.
        listed = subprocess.run(["tar", "-tzf", package], capture_output=True, text=True)
        sound = "usr/bin/bulkwire" in listed.stdout.split()
        print(f"   {'ok' if sound else 'FAILED'}: {package.name} (files, not installed)")
        wrong += not sound
    return wrong


def prove_installed(release: Release, root: pathlib.Path, name: str) -> int:
    """The journey with the programs where a package puts them."""
    (root / "usr/bin/bcp").symlink_to("bulkwire")
    files = root / "files"
    files.mkdir()
    if os.geteuid() == 0:
        add_libraries(root, root / "usr/bin/bulkwire")
        machine = Machine(name, ["chroot", str(root)], "/usr/bin", "/files", files)
    else:
        machine = Machine(name, [], str(root / "usr/bin"), str(files), files)
    print(f"== {name}: extracted into a root of its own", flush=True)
    done = Journey(machine).all()
    link = root / "usr/lib/bulkwire/bcp"
    done.append(("the link bcp", None if os.readlink(link) == "../../bin/bulkwire" else os.readlink(link)))
    manual = root / "usr/share/man/man1/bulkwire.1.gz"
    done.append(("the manual page", None if manual.is_file() else "is missing"))
    for step, problem in done:
        print(f"   {'FAILED' if problem else 'ok'}: {step}{': ' + problem if problem else ''}", flush=True)
    return sum(problem is not None for _, problem in done)


if __name__ == "__main__":
    sys.exit(main())
