"""Stands in for Apple's SDK at the link: names of functions, from the crates that call them.

The programs find the functions themselves in the frameworks of the system that runs them.
"""

import json
import pathlib
import re

from release import Release, output

# The crates with the declarations of each framework.
FRAMEWORKS = {"CoreFoundation": "core-foundation-sys", "Security": "security-framework-sys"}
DECLARED = re.compile(r"^\s*pub (?:fn|static(?: mut)?) (\w+)", re.MULTILINE)
FOREIGN = re.compile(r'extern "C(?:-unwind)?" \{(.*?)^\s*\}', re.MULTILINE | re.DOTALL)


def write_sdk(release: Release, triple: str, folder: pathlib.Path) -> pathlib.Path:
    """The folder for SDKROOT, made new."""
    words = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
    packages = json.loads(output(*words, folder=release.root))["packages"]
    for framework, crate in FRAMEWORKS.items():
        sources = [
            pathlib.Path(each["manifest_path"]).parent / "src" for each in packages if each["name"] == crate
        ]
        text = "\n".join(path.read_text() for source in sources for path in sorted(source.rglob("*.rs")))
        blocks = "\n".join(FOREIGN.findall(text))
        names = ", ".join(sorted({f"_{name}" for name in DECLARED.findall(blocks)}))
        place = folder / f"System/Library/Frameworks/{framework}.framework"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{framework}.tbd").write_text(
            "--- !tapi-tbd\n"
            "tbd-version: 4\n"
            "targets: [ x86_64-macos, arm64-macos ]\n"
            f"install-name: '/System/Library/Frameworks/{framework}.framework/Versions/A/{framework}'\n"
            "exports:\n"
            "  - targets: [ x86_64-macos, arm64-macos ]\n"
            f"    symbols: [ {names} ]\n"
            "...\n"
        )
    return folder
