"""Compares the programs of dist/ with how large they may be, and says how large they are."""

import sys

from platforms import PROGRAMS as PLATFORMS
from release import ROOT, Release, programs_of

# In millions of bytes: a little more than the largest has. The server on Windows has 6 MB more than on Linux.
# 12 were wanted of `bulkwire`: Parquet, Arrow's conversions, object stores and TLS alone are more.
LIMITS = {"bulkwire": 25, "bulkwire-server": 51, "bulkwire-transform": 49, "bulkwire-kerberos": 2}
WHEEL_LIMIT = 30


def main() -> int:
    folder = ROOT / "dist"
    release = Release(folder, folder)
    wrong = 0
    for triple, platform in PLATFORMS.items():
        for program in programs_of(triple).values():
            path = folder / "work" / release.name(triple) / "bin" / f"{program}{platform.suffix}"
            if path.is_file():
                wrong += too_large(f"{triple} {program}", path.stat().st_size, LIMITS[program])
    for wheel in sorted(folder.glob("*.whl")):
        wrong += too_large(wheel.name, wheel.stat().st_size, WHEEL_LIMIT)
    return 1 if wrong else 0


def too_large(name: str, size: int, limit: int) -> bool:
    print(f"   {size / 1e6:6.1f} MB of at most {limit}: {name}")
    return size > limit * 1_000_000


if __name__ == "__main__":
    sys.exit(main())
