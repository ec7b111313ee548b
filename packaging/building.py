"""Compiles programs and wheels so that folders, users and times leave no trace in them."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from dependencies import Dependencies
from macos_sdk import write_sdk
from platforms import PROGRAMS as PLATFORMS
from platforms import WHEELS
from release import PROGRAM, Release
from wheel_licences import add_licences

# The crates that a wheel is compiled from.
WHEEL_CRATES = ("bulkwire-python",)
# The oldest macOS that runs the programs.
MACOS = "11.0"


def environment(release: Release, triple: str) -> dict[str, str]:
    """What compilers need to know for a target."""
    home = pathlib.Path.home()
    cargo = pathlib.Path(os.environ.get("CARGO_HOME", home / ".cargo"))
    # Where several fit, rustc takes the last, C compilers the last as well.
    renamed = [(home, "/home"), (cargo, "/cargo")]
    renamed += [(folder, "/crates") for folder in sorted((cargo / "registry" / "src").glob("*"))]
    renamed += [(release.target, "/target"), (release.root, "/bulkwire")]
    flags = [f"--remap-path-prefix={old}={new}" for old, new in renamed]
    variable = triple.replace("-", "_")
    result = {
        **os.environ,
        "CARGO_TARGET_DIR": str(release.target),
        "SOURCE_DATE_EPOCH": str(release.epoch),
        f"CFLAGS_{variable}": " ".join(f"-ffile-prefix-map={old}={new}" for old, new in renamed),
        # Alone in a process, the compiler numbers what it makes in the same order each time.
        "CARGO_INCREMENTAL": "0",
    }
    result.pop("RUSTFLAGS", None)
    if "apple" in triple:
        result |= {"MACOSX_DEPLOYMENT_TARGET": MACOS, "SDKROOT": sdk(release, triple)}
    if "windows" in triple:
        # The linker writes the time into a program unless it is asked not to.
        flags.append("-Clink-arg=-Wl,--no-insert-timestamp")
        result[f"CARGO_TARGET_{variable.upper()}_LINKER"] = "x86_64-w64-mingw32-gcc"
    result["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    return result


def sdk(release: Release, triple: str) -> str:
    """Apple's SDK, or a folder with the names of the frameworks' functions that stands in for it."""
    given = os.environ.get("SDKROOT")
    return given or str(write_sdk(release, triple, release.target / "macos-sdk"))


def build_programs(release: Release, triple: str) -> None:
    """The program of a target, in `release.programs(triple)`."""
    platform = PLATFORMS[triple]
    rustup = shutil.which("rustup")
    if rustup:
        subprocess.run([rustup, "target", "add", triple], check=True, stdout=subprocess.DEVNULL)
    words = ["cargo", "zigbuild" if platform.linked_by_zig else "build", "--locked", "--profile", "dist"]
    words += ["--target", platform.zig_triple if platform.linked_by_zig else triple]
    words += ["--package", PROGRAM, "--bin", PROGRAM]
    subprocess.run(words, cwd=release.root, env=environment(release, triple), check=True)


def build_wheel(release: Release, triple: str, out: pathlib.Path) -> None:
    """The wheel of a target, with the command, the server and the driver in it."""
    rustup = shutil.which("rustup")
    if rustup:
        subprocess.run([rustup, "target", "add", triple], check=True, stdout=subprocess.DEVNULL)
    known = environment(release, triple)
    # An extension module on musl is not static: it shares no object with the programs.
    known["CARGO_TARGET_DIR"] = str(release.target / "wheels")
    known["PYO3_CONFIG_FILE"] = str(release.root / "python" / "pyo3-config.txt")
    words = [sys.executable, "-m", "maturin", "build", "--locked", "--profile", "dist", "--zig"]
    words += ["--target", triple, "--compatibility", WHEELS[triple]]
    words += ["--manifest-path", "python/Cargo.toml"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*words, "--out", folder], cwd=release.root, env=known, check=True)
        [wheel] = pathlib.Path(folder).glob("*.whl")
        texts = {name: (release.root / name).read_text() for name in ("LICENSE-MIT", "LICENSE-APACHE")}
        texts["THIRD-PARTY-LICENSES.txt"] = Dependencies(release, triple, WHEEL_CRATES).licences()
        add_licences(wheel, texts)
        shutil.move(wheel, out / wheel.name)
