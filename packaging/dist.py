"""Builds a release: `make dist`; TARGETS="x86_64-unknown-linux-musl" and PARTS="archives packages" choose.

Everything goes to dist/. Two runs on the same commit write the same bytes, wherever the checkout lies:
`packaging/reproduce.py` shows it.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import sys

import building
from archives import write_folders, write_tar, write_zip
from dependencies import Dependencies
from formula import write_formula
from platforms import PROGRAMS, WHEELS
from release import ROOT, Release
from staging import stage, write_pages
from system_packages import write_packages

PARTS = ("archives", "packages", "wheels", "formula")


def main() -> int:
    arguments = parse()
    release = Release(arguments.out.resolve(), arguments.target_dir.resolve())
    (release.out / "work").mkdir(parents=True, exist_ok=True)
    programs = [triple for triple in arguments.targets if triple in PROGRAMS]
    if "archives" in arguments.parts or "packages" in arguments.parts:
        build_archives(release, programs, arguments.parts)
    if "wheels" in arguments.parts:
        for triple in (triple for triple in arguments.targets if triple in WHEELS):
            say(f"wheel for {triple}")
            building.build_wheel(release, triple, release.out)
    shutil.copy(ROOT / "packaging" / "Dockerfile", release.out)
    write_folders(
        release.out / "image-folders.tar", {"tmp": (0o1777, 0), "data": (0o700, 65532)}, release.epoch
    )
    if "formula" in arguments.parts and arguments.address:
        write_formula(release, arguments.address)
    write_sums(release)
    show(release)
    return 0


def parse() -> argparse.Namespace:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = sorted({*PROGRAMS, *WHEELS})
    reader.add_argument("--targets", nargs="+", choices=known, default=known, metavar="TARGET")
    reader.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    reader.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    cache = os.environ.get("CARGO_TARGET_DIR", str(pathlib.Path.home() / ".cache/bulkwire/target"))
    reader.add_argument("--target-dir", type=pathlib.Path, default=pathlib.Path(cache) / "release-targets")
    reader.add_argument("--address", help="folder of the archives on the web, for the formula of Homebrew")
    return reader.parse_args()


def build_archives(release: Release, targets: list[str], parts: list[str]) -> None:
    """Programs, then what is made of them. The first that runs here writes the manual pages of all."""
    targets = sorted(targets, key=lambda triple: not PROGRAMS[triple].runs_here)
    pages = release.out / "work" / "pages"
    for triple in targets:
        platform = PROGRAMS[triple]
        say(f"programs for {triple}")
        building.build_programs(release, triple)
        if platform.runs_here:
            pages = write_pages(release, release.programs(triple))
        elif not pages.is_dir():
            sys.exit("manual pages are written by programs that run here: name this machine's target too")
        staged = stage(release, triple, pages)
        if "archives" in parts:
            write = write_zip if platform.system == "windows" else write_tar
            write(release.out / f"{release.name(triple)}{platform.archive_suffix}", staged, release.epoch)
            bill = Dependencies(release, triple).bill_of_materials()
            (release.out / f"{release.name(triple)}.cdx.json").write_bytes(bill)
        if "packages" in parts and platform.system == "linux":
            write_packages(release, triple, staged)


def write_sums(release: Release) -> None:
    """SHA256SUMS of every file that is published."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in sorted(release.out.iterdir())
        if path.is_file() and path.name != "SHA256SUMS"
    ]
    (release.out / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def show(release: Release) -> None:
    for path in sorted(release.out.iterdir()):
        if path.is_file():
            print(f"{path.stat().st_size / 1e6:9.2f} MB  {path.name}")


def say(words: str) -> None:
    print(f"== {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
