"""Packages of bulkwire-kerberos, which is linked to the GSSAPI of a system like this one."""

import pathlib
import platform
import re
import shutil
import subprocess

from building import environment
from platforms import PROGRAMS as PLATFORMS
from release import Release
from system_packages import copyright_of, entry, pack

DESCRIPTION = "Signs bulkwire and bulkwire-server in with Kerberos tickets"


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
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        content.append(entry(release.root / licence, f"/usr/share/doc/bulkwire-kerberos/{licence}"))
    musl = next(each.triple for each in PLATFORMS.values() if each.runs_here)
    oldest = oldest_libc(program)
    # The libraries, as Debian and Fedora call their packages.
    needs = {"deb": ("libgssapi-krb5-2", f"libc6 (>= {oldest})"), "rpm": ("krb5-libs", f"glibc >= {oldest}")}
    notice = release.out / "work" / "copyright-kerberos"
    notice.write_text(copyright_of(release.root), encoding="utf-8")
    for kind, packages in needs.items():
        notices = [entry(notice, "/usr/share/doc/bulkwire-kerberos/copyright")] if kind == "deb" else []
        pack(release, musl, kind, [*content, *notices], "bulkwire-kerberos", packages, DESCRIPTION)


def oldest_libc(program: pathlib.Path) -> str:
    """The oldest version of glibc that has every function that the program calls."""
    words = ["objdump", "--dynamic-syms", program]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", listed)
    return ".".join(map(str, max((int(major), int(minor)) for major, minor in versions)))
