"""The folder of a target as users unpack it: programs, manual pages, completions, licences."""

import pathlib
import shutil
import subprocess

from dependencies import Dependencies
from platforms import PROGRAMS as PLATFORMS
from platforms import Platform
from release import PROGRAM, Release

SHELLS = {"bash": "bulkwire.bash", "zsh": "_bulkwire", "fish": "bulkwire.fish", "powershell": "bulkwire.ps1"}
DOCUMENTS = ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE")


def write_pages(release: Release, programs: pathlib.Path) -> pathlib.Path:
    """Manual pages and completions, which are the same for every target, by programs that run here."""
    pages = release.out / "work" / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    manual, completions = pages / "man" / "man1", pages / "completions"
    manual.mkdir(parents=True)
    completions.mkdir()
    subprocess.run([programs / "bulkwire", "manual", manual], check=True)
    subprocess.run([programs / "bulkwire", "serve", "--manual", manual], check=True)
    (manual / "bcp.1").write_text(".so man1/bulkwire-bcp.1\n")
    for shell, file in SHELLS.items():
        with (completions / file).open("wb") as script:
            subprocess.run([programs / "bulkwire", "completions", shell], check=True, stdout=script)
    return pages


def stage(release: Release, triple: str, pages: pathlib.Path) -> pathlib.Path:
    """Puts together what the archive of a target has."""
    platform = PLATFORMS[triple]
    folder = release.out / "work" / release.name(triple)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    name = f"{PROGRAM}{platform.suffix}"
    shutil.copy(release.programs(triple) / name, folder / "bin" / name)
    add_bcp(folder / "bin", platform)
    shutil.copytree(pages, folder / "share")
    for document in DOCUMENTS:
        shutil.copy(release.root / document, folder)
    licences = Dependencies(release, triple).licences()
    (folder / "THIRD-PARTY-LICENSES.txt").write_text(licences, encoding="utf-8")
    return folder


def add_bcp(programs: pathlib.Path, platform: Platform) -> None:
    """The command is bcp where that is its name."""
    if platform.system == "windows":
        # Links need a privilege there.
        shutil.copy(programs / "bulkwire.exe", programs / "bcp.exe")
    else:
        (programs / "bcp").symlink_to("bulkwire")
