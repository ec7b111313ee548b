"""Packages of bulkwire-kerberos, which is linked to the GSSAPI of a system like this one."""

import platform
import shutil
import subprocess

from building import environment
from platforms import PROGRAMS as PLATFORMS
from release import Release
from system_packages import entry, pack

# The library, as Debian and Fedora call its package.
NEEDS = {"deb": ("libgssapi-krb5-2", "libc6"), "rpm": ("krb5-libs", "glibc")}


def write_packages(release: Release) -> None:
    """A .deb and an .rpm. Musl's systems build it themselves: their Kerberos library is another."""
    if platform.system() != "Linux" or not shutil.which("krb5-config"):
        print("-- bulkwire-kerberos is left out: it needs the headers of Kerberos (libkrb5-dev)")
        return
    triple = f"{platform.machine()}-unknown-linux-gnu"
    words = ["cargo", "build", "--locked", "--profile", "dist", "--target", triple]
    words += ["--package", "bulkwire-kerberos"]
    subprocess.run(words, cwd=release.root, env=environment(release, triple), check=True)
    program = release.programs(triple) / "bulkwire-kerberos"
    content = [entry(program, "/usr/bin/bulkwire-kerberos", 0o755)]
    musl = next(each.triple for each in PLATFORMS.values() if each.runs_here)
    for kind, needs in NEEDS.items():
        pack(release, musl, kind, content, "bulkwire-kerberos", needs)
