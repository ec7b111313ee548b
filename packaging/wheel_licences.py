"""Puts licences into a wheel: those of the project, and those of every crate that is compiled into it."""

import base64
import hashlib
import pathlib
import zipfile


def add_licences(wheel: pathlib.Path, texts: dict[str, str]) -> None:
    """Adds files to `*.dist-info/licenses` (PEP 639), with the time of the wheel's own."""
    with zipfile.ZipFile(wheel) as packed:
        entries = [(entry, packed.read(entry)) for entry in packed.infolist()]
    info = next(name for entry, _ in entries if (name := entry.filename).endswith(".dist-info/METADATA"))
    folder = info.removesuffix("METADATA")
    moment = entries[0][0].date_time
    added = {f"{folder}licenses/{name}": text.encode() for name, text in texts.items()}
    kept = [(entry, content) for entry, content in entries if entry.filename not in added]
    changed = []
    for entry, content in kept:
        if entry.filename == info:
            content = with_names(content.decode(), texts).encode()
        changed.append((entry.filename, entry, content))
    for name, content in sorted(added.items()):
        entry = zipfile.ZipInfo(name, moment)
        entry.external_attr = 0o644 << 16
        entry.create_system = 3
        entry.compress_type = zipfile.ZIP_DEFLATED
        changed.append((name, entry, content))
    record = f"{folder}RECORD"
    lines = [
        f"{name},sha256={digest(content)},{len(content)}" for name, _, content in changed if name != record
    ]
    listed = "".join(f"{line}\n" for line in [*lines, f"{record},,"]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        # RECORD comes last, as installers expect it.
        for name, entry, content in sorted(changed, key=lambda each: each[0] == record):
            packed.writestr(entry, listed if name == record else content)


def with_names(metadata: str, texts: dict[str, str]) -> str:
    """The metadata with a line for each licence."""
    head, gap, description = metadata.partition("\n\n")
    lines = [line for line in head.split("\n") if not line.startswith("License-File: ")]
    lines += [f"License-File: {name}" for name in sorted(texts)]
    return "\n".join(lines) + gap + description


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
