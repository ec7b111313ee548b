"""Packages of Linux systems by nfpm: .deb and .rpm for glibc, .apk for musl."""

import json
import os
import pathlib
import shutil
import subprocess

from archives import compressed
from platforms import OLDEST_GLIBC
from platforms import PROGRAMS as PLATFORMS
from release import PROGRAM, Release

FORMATS = {"gnu": ("deb", "rpm"), "musl": ("apk",)}
# What the program is linked to, and what it opens when somebody signs in with a ticket.
NEEDS = {"deb": f"libc6 (>= {OLDEST_GLIBC})", "rpm": f"glibc >= {OLDEST_GLIBC}"}
RECOMMENDS = {"deb": "libgssapi-krb5-2", "rpm": "krb5-libs"}
DESCRIPTION = "Moves tables in and out of SQL Server at the speed of the wire"
MAINTAINER = "The bulkwire authors <bulkwire@localhost>"
# Where shells look for completions, by the kind of package.
ZSH = {
    "deb": "/usr/share/zsh/vendor-completions/_bulkwire",
    "rpm": "/usr/share/zsh/site-functions/_bulkwire",
    "apk": "/usr/share/zsh/site-functions/_bulkwire",
}


def write_packages(release: Release, triple: str, staged: pathlib.Path) -> list[pathlib.Path]:
    """One package of each kind, from a staged folder."""
    manual = staged.parent / f"manual-{triple}"
    shutil.rmtree(manual, ignore_errors=True)
    manual.mkdir()
    for page in sorted((staged / "share" / "man" / "man1").iterdir()):
        (manual / f"{page.name}.gz").write_bytes(compressed(page.read_bytes()))
    return [
        pack(release, triple, kind, files(staged, manual, kind))
        for kind in FORMATS[PLATFORMS[triple].c_library]
    ]


def files(staged: pathlib.Path, manual: pathlib.Path, kind: str) -> list[dict]:
    """Sources, and where they are installed."""
    share = staged / "share" / "completions"
    found = [entry(program, f"/usr/bin/{program.name}", 0o755) for program in programs(staged)]
    # Boost's tools have a /usr/bin/bcp too.
    found.append({"src": "../../bin/bulkwire", "dst": "/usr/lib/bulkwire/bcp", "type": "symlink"})
    pages = [page for page in sorted(manual.glob("*.gz")) if page.name != "bcp.1.gz"]
    found += [entry(page, f"/usr/share/man/man1/{page.name}") for page in pages]
    found += [
        entry(share / "bulkwire.bash", "/usr/share/bash-completion/completions/bulkwire"),
        entry(share / "bulkwire.fish", "/usr/share/fish/vendor_completions.d/bulkwire.fish"),
        entry(share / "_bulkwire", ZSH[kind]),
    ]
    unit = pathlib.Path(__file__).with_name("bulkwire-serve.service")
    if kind != "apk":
        # Alpine has no systemd.
        found.append(entry(unit, "/usr/lib/systemd/system/bulkwire-serve.service"))
    documents = "/usr/share/doc/bulkwire"
    if kind == "deb":
        notice = manual / "copyright"
        notice.write_text(copyright_of(staged), encoding="utf-8")
        found.append(entry(notice, f"{documents}/copyright"))
    for name in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt"):
        found.append(entry(staged / name, f"{documents}/{name}"))
    return found


def copyright_of(folder: pathlib.Path) -> str:
    """What Debian asks for in /usr/share/doc (Debian Policy 12.5), from the licences of a folder."""
    lines = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
        "Upstream-Name: bulkwire",
        "",
        "Files: *",
        "Copyright: The bulkwire authors",
        "License: MIT or Apache-2.0",
        "Comment: what is compiled into the programs is listed in THIRD-PARTY-LICENSES.txt beside this file.",
    ]
    for name, file in (("MIT", "LICENSE-MIT"), ("Apache-2.0", "LICENSE-APACHE")):
        text = (folder / file).read_text(encoding="utf-8").strip()
        lines += [
            "",
            f"License: {name}",
            *(f" {line}" if line.strip() else " ." for line in text.splitlines()),
        ]
    return "\n".join(lines) + "\n"


def programs(staged: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in sorted((staged / "bin").iterdir()) if not path.is_symlink()]


def entry(source: pathlib.Path, place: str, mode: int = 0o644) -> dict:
    return {"src": str(source), "dst": place, "file_info": {"mode": mode, "owner": "root", "group": "root"}}


def pack(release: Release, triple: str, kind: str, content: list[dict]) -> pathlib.Path:
    """Has nfpm write a package."""
    platform = PLATFORMS[triple]
    configuration = {
        "name": PROGRAM,
        "arch": platform.debian,
        "platform": "linux",
        "version": release.version,
        "release": "1",
        "section": "database",
        "priority": "optional",
        "maintainer": MAINTAINER,
        "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0",
        "mtime": stamp(release.epoch),
        "depends": [NEEDS[kind]] if kind in NEEDS else [],
        "recommends": [RECOMMENDS[kind]] if kind in RECOMMENDS else [],
        "contents": content,
        "rpm": {"buildhost": "localhost"},
    }
    written = release.out / "work" / f"{PROGRAM}-{triple}-{kind}.yaml"
    # JSON is YAML too.
    written.write_text(json.dumps(configuration, indent=1))
    known = {**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)}
    file = release.out / file_name(PROGRAM, release.version, kind, platform)
    words = ["nfpm", "package", "--config", written, "--packager", kind, "--target", file]
    subprocess.run(words, env=known, check=True, stdout=subprocess.DEVNULL)
    return file


def file_name(name: str, version: str, kind: str, platform) -> str:
    """As each system's tools would name it."""
    return {
        "deb": f"{name}_{version}-1_{platform.debian}.deb",
        "rpm": f"{name}-{version}-1.{platform.rpm}.rpm",
        "apk": f"{name}-{version}-r1.{platform.rpm}.apk",
    }[kind]


def stamp(epoch: int) -> str:
    import datetime

    return datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
