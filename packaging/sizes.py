"""Compares the programs of dist/ with how large they may be, and says how large they are."""

import sys

from platforms import PROGRAMS as PLATFORMS
from release import PROGRAM, ROOT, Release

# In millions of bytes: a little more than the largest has.
LIMIT = 75
WHEEL_LIMIT = 30


def main() -> int:
    folder = ROOT / "dist"
    release = Release(folder, folder)
    wrong = 0
    for triple, platform in PLATFORMS.items():
        path = folder / "work" / release.name(triple) / "bin" / f"{PROGRAM}{platform.suffix}"
        if path.is_file():
            wrong += too_large(triple, path.stat().st_size, LIMIT)
    for wheel in sorted(folder.glob("*.whl")):
        wrong += too_large(wheel.name, wheel.stat().st_size, WHEEL_LIMIT)
    return 1 if wrong else 0


def too_large(name: str, size: int, limit: int) -> bool:
    print(f"   {size / 1e6:6.1f} MB of at most {limit}: {name}")
    return size > limit * 1_000_000


if __name__ == "__main__":
    sys.exit(main())
