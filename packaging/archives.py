"""Archives whose bytes depend on their content alone: sorted, with one owner and one time."""

import gzip
import io
import pathlib
import tarfile
import time
import zipfile


def write_tar(archive: pathlib.Path, folder: pathlib.Path, epoch: int) -> None:
    """A gzipped tar of a folder, named after it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in contents(folder):
            entry = tar.gettarinfo(path, path.relative_to(folder.parent).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = epoch
            entry.mode = mode_of(path)
            if entry.isfile():
                with path.open("rb") as content:
                    tar.addfile(entry, content)
            else:
                tar.addfile(entry)
    archive.write_bytes(compressed(packed.getvalue()))


def write_zip(archive: pathlib.Path, folder: pathlib.Path, epoch: int) -> None:
    """The same as a zip, for Windows."""
    moment = time.gmtime(epoch)[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in contents(folder):
            if path.is_dir():
                continue
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), moment)
            entry.external_attr = mode_of(path) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes())


def write_folders(archive: pathlib.Path, folders: dict[str, tuple[int, int]], epoch: int) -> None:
    """A tar of empty folders, each with its mode and the number of its owner."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, (mode, owner) in sorted(folders.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, mode, epoch
            entry.uid = entry.gid = owner
            tar.addfile(entry)


def compressed(content: bytes) -> bytes:
    """Gzip without a name or a time."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def contents(folder: pathlib.Path) -> list[pathlib.Path]:
    return [folder, *sorted(folder.rglob("*"))]


def mode_of(path: pathlib.Path) -> int:
    """Whatever the umask was: folders and programs can be entered and run by all."""
    runs = path.is_dir() or path.parent.name == "bin"
    return 0o755 if runs else 0o644
