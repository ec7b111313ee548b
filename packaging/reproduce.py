"""Builds a release twice, in two folders with two caches, and compares the bytes.

packaging/reproduce.py --targets x86_64-unknown-linux-musl [--parts archives] [--keep FOLDER]
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from release import ROOT, output


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--targets", nargs="+", default=["x86_64-unknown-linux-musl"])
    reader.add_argument("--parts", nargs="+", default=["archives", "packages"])
    reader.add_argument(
        "--first", type=pathlib.Path, help="a finished dist/ of this commit instead of the first build"
    )
    arguments = reader.parse_args()
    if output("git", "status", "--porcelain", "--untracked-files=no", folder=ROOT):
        sys.exit("only a commit can be built again: something is not committed")
    with tempfile.TemporaryDirectory(prefix="again-") as folder:
        results = [arguments.first.resolve()] if arguments.first else []
        while len(results) < 2:
            results.append(build(pathlib.Path(folder) / ("x" * (len(results) + 1)), arguments))
        return compare(*results)


def build(folder: pathlib.Path, arguments: argparse.Namespace) -> pathlib.Path:
    """A release from a fresh clone."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "source"], check=True)
    out = folder / "out"
    words = [
        sys.executable,
        folder / "source/packaging/dist.py",
        "--out",
        out,
        "--target-dir",
        folder / "target",
    ]
    words += ["--targets", *arguments.targets, "--parts", *arguments.parts]
    subprocess.run(words, check=True, cwd=folder / "source")
    return out


def compare(one: pathlib.Path, other: pathlib.Path) -> int:
    sums = [read_sums(folder) for folder in (one, other)]
    # A finished release may hold more targets.
    differing = [name for name, digest in sums[1].items() if sums[0].get(name) != digest]
    for name in differing:
        print(f"differs: {name}")
    print(f"{len(sums[1]) - len(differing)} of {len(sums[1])} files are the same bytes")
    return 1 if differing else 0


def read_sums(folder: pathlib.Path) -> dict[str, str]:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


if __name__ == "__main__":
    sys.exit(main())
