"""The platforms that releases are built for, and what packages call them."""

import dataclasses
import platform

OLDEST_GLIBC = "2.17"


@dataclasses.dataclass(frozen=True)
class Platform:
    """A target of the compiler."""

    triple: str
    system: str
    # The processor, as Debian and Go call it, and as RPM and the kernel do.
    debian: str
    rpm: str

    @property
    def suffix(self) -> str:
        """What names of programs end with."""
        return ".exe" if self.system == "windows" else ""

    @property
    def archive_suffix(self) -> str:
        return ".zip" if self.system == "windows" else ".tar.gz"

    @property
    def c_library(self) -> str:
        """`gnu` or `musl` on Linux: programs linked to musl are static, and cannot open libraries."""
        return self.triple.rpartition("-")[2]

    @property
    def zig_triple(self) -> str:
        """The target with the oldest glibc that the programs run with."""
        return f"{self.triple}.{OLDEST_GLIBC}" if self.c_library == "gnu" else self.triple

    @property
    def linked_by_zig(self) -> bool:
        """Zig brings the C libraries of the others; Windows has that of MinGW-w64."""
        return self.system != "windows"

    @property
    def runs_here(self) -> bool:
        """Its programs run on this machine without an emulator."""
        return self.system == "linux" and platform.system() == "Linux" and platform.machine() == self.rpm


# Those of glibc open libraries (Kerberos, ODBC, ADBC); those of musl are static, for containers and Alpine.
PROGRAMS = {
    each.triple: each
    for each in (
        Platform("x86_64-unknown-linux-gnu", "linux", "amd64", "x86_64"),
        Platform("aarch64-unknown-linux-gnu", "linux", "arm64", "aarch64"),
        Platform("x86_64-unknown-linux-musl", "linux", "amd64", "x86_64"),
        Platform("aarch64-unknown-linux-musl", "linux", "arm64", "aarch64"),
        Platform("x86_64-pc-windows-gnu", "windows", "amd64", "x86_64"),
        Platform("aarch64-apple-darwin", "macos", "arm64", "aarch64"),
        Platform("x86_64-apple-darwin", "macos", "amd64", "x86_64"),
    )
}

# Wheels, by target: the oldest system that each one supports. Python itself is linked to glibc or to musl.
WHEELS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_17",
    "aarch64-unknown-linux-gnu": "manylinux_2_17",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
