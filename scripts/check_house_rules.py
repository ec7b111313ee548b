"""House rules that no compiler checks.

- Dependency arrows between the rooms (ARCHITECTURE.md) hold; DataFusion appears in `query` alone.
- No catch-all modules; no file of code over 800 lines (past 600, look for the second noun).
- No unfinished work left in the code, `unsafe` in the file of UNSAFE, no path of the checkout in a program.
- Comments and pages avoid the words in RETIRED.
"""

import ast
import io
import pathlib
import re
import subprocess
import sys
import tokenize
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The package of Python lies beside the crates; its manifest names other rooms `bulkwire-…`.
FOLDERS = {"python": ROOT / "python"}
ARROWS = {
    "tds": set(),
    "rows": {"tds"},
    "formats": {"tds", "rows"},
    "sign_in": set(),
    "trust": set(),
    "kerberos": {"sign_in"},
    "entra": {"sign_in", "trust"},
    "objects": {"formats", "trust"},
    "load": {"tds", "rows", "sign_in", "entra", "trust"},
    "store": set(),
    "tsql": {"tds"},
    "query": {"tds", "rows", "tsql"},
    "databases": {"tds", "rows", "store", "tsql", "query"},
    "introspection": {"tds", "store", "tsql", "query", "databases"},
    "executor": {"tds", "rows", "formats", "store", "tsql", "query", "databases", "introspection"}
    | {"database_files"},
    "http": set(),
    "server": {"tds", "rows", "store", "tsql", "query", "databases", "executor", "sign_in", "entra"}
    | {"http"},
    "database_files": {"tds", "rows"},
    "copy": {"tds", "rows", "formats", "load", "database_files"},
    "package": {"tds", "formats", "load", "copy", "trust"},
    "cli": {"tds", "rows", "formats", "objects", "load", "database_files", "copy", "package", "sign_in"},
    "program": {"cli", "kerberos", "sign_in", "server", "transform"},
    "drivers": set(),
    "odbc": {"drivers"},
    "transform": {"tds", "rows", "load", "tsql", "query", "copy", "cli", "wizard"},
    "wizard": {"tds", "rows", "formats", "load", "copy", "package", "http"},
    "adbc": {"tds", "rows", "load", "drivers"},
    "python": {"tds", "rows", "formats", "objects", "load", "sign_in", "server", "copy"}
    | {"transform", "cli", "adbc", "kerberos"},
}
# Calls C functions of the system's Kerberos library, which is opened at run time.
UNSAFE = {"crates/kerberos/src/gssapi/library.rs"}
FORBIDDEN_MODULES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|todo!|unimplemented!)")
CODE_LINES_LIMIT = 800
RETIRED = re.compile(
    r"\b(whoever|anew|told|strung|nobody's|as (it|they) lie|the same of (an?|the|another|every))\b",
    re.IGNORECASE,
)


def tracked_files() -> list[pathlib.Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def arrow_offences() -> list[str]:
    offences = []
    for room, allowed in ARROWS.items():
        folder = FOLDERS.get(room, ROOT / "crates" / room)
        name = folder.relative_to(ROOT)
        manifest = tomllib.loads((folder / "Cargo.toml").read_text())
        for section in ("dependencies", "dev-dependencies"):
            dependencies = {other.removeprefix("bulkwire-") for other in manifest.get(section, {})}
            if section == "dependencies":
                for other in sorted((dependencies & set(ARROWS)) - allowed):
                    offences.append(f"{name}: the arrow {room} -> {other} is not in ARCHITECTURE.md")
            if room == "tsql" and dependencies & {"arrow", "tokio"}:
                offences.append(f"{name}: a parser needs neither Arrow nor tokio")
            if "datafusion" in dependencies and room != "query":
                offences.append(f"{name}: DataFusion belongs to query alone")
    return offences


def words_for_readers(path: pathlib.Path, text: str) -> list[tuple[int, str]]:
    """Comments of code, or the prose of a page, line by line with their numbers."""
    lines = list(enumerate(text.splitlines(), 1))
    if path.suffix == ".md":
        fences, prose = 0, []
        for number, line in lines:
            fences += line.startswith("```")
            if fences % 2 == 0:
                prose.append((number, line))
        return prose
    if path.suffix == ".rs":
        return [(number, line.split("//", 1)[1]) for number, line in lines if re.search(r"(^|\s)//", line)]
    read = io.StringIO(text).readline
    found = [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(read)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                found += [
                    (node.body[0].lineno + offset, line) for offset, line in enumerate(docstring.splitlines())
                ]
    return found


def word_offences(path: pathlib.Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    if path.suffix not in {".rs", ".py", ".md"}:
        return []
    return [
        f"{name}:{number}: say it without `{hit[0]}`"
        for number, line in words_for_readers(path, path.read_text(encoding="utf-8"))
        if (hit := RETIRED.search(line))
    ]


def file_offences(path: pathlib.Path) -> list[str]:
    name = path.relative_to(ROOT)
    if path.suffix not in {".rs", ".py"} or name.name == "check_house_rules.py":
        return []
    text = path.read_text(encoding="utf-8")
    offences = []
    if path.stem in FORBIDDEN_MODULES:
        offences.append(f"{name}: a module is named by its noun, not `{path.stem}`")
    for number, line in enumerate(text.splitlines(), 1):
        if UNFINISHED.search(line):
            offences.append(f"{name}:{number}: unfinished work")
        unsafe = path.suffix == ".rs" and re.search(r"\bunsafe\s*(\{|fn|impl)", line)
        if unsafe and name.as_posix() not in UNSAFE:
            offences.append(f"{name}:{number}: unsafe code")
        # Programs of another checkout with this cache would look there. Tests run in their crate's folder.
        if "crates" in name.parts and 'env!("CARGO_MANIFEST_DIR")' in line:
            offences.append(f"{name}:{number}: the path of a checkout, written into a program")
    if len(text.splitlines()) > CODE_LINES_LIMIT and "tests" not in name.as_posix():
        offences.append(f"{name}: {len(text.splitlines())} lines; look for the second noun")
    return offences


def main() -> int:
    offences = arrow_offences()
    for path in tracked_files():
        offences += file_offences(path) + word_offences(path)
    print("\n".join(offences) or "house rules: all hold")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
