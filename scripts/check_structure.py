"""Checks what a reader has to hold in mind: circles of imports, methods of a type, names in documents.

- Files that name one another, in a `use` or in a path elsewhere, form a circle; none has more than
  CIRCLE_LIMIT files.
- A type has at most METHODS_LIMIT methods of its own, in however many files they stand.
- Rooms, the folders and files directly below `src`, form no circles.
- The rooms of a crate in LAYERS use those before them alone.
- A name such as `room::noun` in ARCHITECTURE.md or docs/ stands somewhere in the code.

KNOWN lists what exceeds a limit. Such a figure may only fall, and the new one is written down here.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CIRCLE_LIMIT = 5
METHODS_LIMIT = 40

# The largest circle of a crate in files, and methods of a type. A parser has as many as its grammar
# has rules.
KNOWN_CIRCLES: dict[str, int] = {}
KNOWN_METHODS: dict[tuple[str, str], int] = {}
WITHOUT_LIMIT = {("tsql", "Parser")}
# Rooms of a crate's largest circle.
KNOWN_ROOMS = {"cli": 2, "copy": 2, "load": 21, "package": 3, "query": 14, "store": 3, "tsql": 2, "wizard": 2}

# A crate's folders from the lowest to the highest.
LAYERS = {
    "tds": [
        "codec",
        "connecting",
        "packets",
        "types",
        "data",
        "requests",
        "responses",
        "conversation",
    ],
    "rows": [
        "nearest_name",
        "text",
        "encode",
        "cell_error",
        "mapping",
        "decode",
        "column_text",
        "cast",
        "foreign",
        "insert_bulk",
        "mapping_page",
        "plan",
        "splice",
        "row_order",
    ],
    "formats": [
        "witness",
        "objects",
        "at_offset",
        "row_lines",
        "deviation",
        "encoding",
        "rejected_rows",
        "format_file_error",
        "error",
        "order",
        "row_positions",
        "same_file",
        "batch",
        "unfinished",
        "location",
        "compression",
        "scanner",
        "cpu_time",
        "crew",
        "column_reading",
        "csv",
        "bcp",
        "checksum",
        "damage",
        "ipc",
        "counted_chunks",
        "parquet",
        "format",
        "opening",
        "convert",
        "fingerprint",
        "folder",
        "text_lengths",
        "infer",
        "measure",
        "split_files",
        "partitioned_files",
        "sniff",
    ],
    "store": [
        "page",
        "error",
        "lock_mode",
        "codec",
        "figures",
        "disk",
        "log",
        "record",
        "cache",
        "space",
        "lock",
        "tree",
        "catalogue",
        "database",
        "sort",
        "heap",
        "scan",
        "check",
        "transaction",
        "engine",
        "backup",
    ],
    "databases": [
        "secrets",
        "log",
        "memory",
        "waiting",
        "file_access",
        "catalogue",
        "storage",
        "store_error",
        "transactions",
        "instance",
        "table",
    ],
    "introspection": [
        "view",
        "facts",
        "system_views",
        "functions",
    ],
    "executor": [
        "bulk_error",
        "bulk_file",
        "session",
        "statements",
    ],
    "server": [
        "faults",
        "transport",
        "init_script",
        "options",
        "serving",
        "metrics",
        "connection",
        "listener",
        "program",
        "main",
    ],
}
# The arrows upwards. Where a row of a page ends, its record says.
KNOWN_ARROWS = {
    ("store", "page", "record"),
}

# Comments, then texts (raw, plain, characters): what is in them is no code.
TEXT = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|\bb?r(?P<marks>#*)".*?"(?P=marks)|\bb?"(?:\\.|[^"\\])*"|"(?:\\.|[^"\\])*"'
    r"|'(?:\\(?:u\{\w+\}|x\w\w|.)|[^\\'\n])'",
    re.DOTALL,
)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#!?\[[^\]]*\]\s*)*(?:pub\(crate\) )?mod \w+ \{")
IMPORT = re.compile(r"^[ \t]*(pub(?:\([^)]*\))?[ \t]+)?use\s+([^;]+);", re.MULTILINE)
IMPLEMENTATION = re.compile(
    r"^impl(?:<[^{]*?>)?\s+(\w+)(?:<[^{]*?>)?\s*(?:where[^{]*)?\{(.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
# A path in an expression or a type, from its first word on.
INLINE = re.compile(r"(?<![\w:.])\w+(?:::\w+)+")
DOCUMENTED = re.compile(r"`([a-z_]+(?:::\w+)+)(?:\(\))?`")

Path = tuple[str, ...]


def code_of(path: pathlib.Path) -> str:
    """A file's code: comments, texts and tests are blank."""
    code = TEXT.sub(
        lambda text: re.sub(r"[^\n]", " ", text.group()),
        path.read_text(encoding="utf-8"),
    )
    tests = TESTS.search(code)
    return code[: tests.start()] if tests else code


def crates() -> dict[str, dict[Path, str]]:
    """The code of every crate by module: that of session/work.rs is ("session", "work")."""
    found: dict[str, dict[Path, str]] = {}
    for source in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        crate, _, *parts = source.relative_to(ROOT / "crates").with_suffix("").parts
        if parts[-1] == "tests" or parts[-1].endswith("_tests") or "tests" in parts:
            continue
        module = tuple(parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts)
        found.setdefault(crate, {})[module] = code_of(source)
    return found


def imported(tree: str) -> list[Path]:
    """The paths that the tree of a `use` names."""
    tree = re.sub(r"\s+as\s+\w+$", "", tree.strip())
    opening = tree.find("{")
    if opening < 0:
        return [tuple(part for part in re.split(r"\s*::\s*", tree) if part)]
    head = tuple(part for part in re.split(r"\s*::\s*", tree[:opening]) if part)
    paths, depth, piece = [], 0, ""
    for character in tree[opening + 1 : tree.rindex("}")] + ",":
        if character == "," and depth == 0:
            paths += [head + rest for rest in imported(piece)] if piece.strip() else []
            piece = ""
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        piece += character
    return paths


def imports_of(modules: dict[Path, str]) -> dict[Path, set[Path]]:
    """For each module the modules that it imports from; what is handed on counts as its origin's."""
    private: dict[Path, list[Path]] = {module: [] for module in modules}
    handed_on: dict[Path, dict[str, Path]] = {module: {} for module in modules}
    for module, code in modules.items():
        for public, tree in IMPORT.findall(code):
            for path in imported(tree):
                place = within(module, path, modules)
                if place is None:
                    continue
                if public and place:
                    handed_on[module][place[-1]] = place
                elif not public:
                    private[module].append(place)
        for text in INLINE.findall(IMPORT.sub("", code)):
            place = within(module, tuple(text.split("::")), modules)
            if place is not None:
                private[module].append(place)

    def origin(path: Path, hops: int = 0) -> Path:
        module = path
        while module not in modules:
            module = module[:-1]
        rest = path[len(module) :]
        onward = handed_on[module].get(rest[0]) if rest else None
        return origin(onward + rest[1:], hops + 1) if onward and hops < 5 else module

    return {module: {origin(path) for path in paths} - {module} for module, paths in private.items()}


def within(module: Path, path: Path, modules: dict[Path, str]) -> Path | None:
    """A path from the crate's root; None: it leads out of the crate."""
    if path[0] == "crate":
        return path[1:]
    if path[0] in {"super", "self"}:
        base = module
        while path and path[0] in {"super", "self"}:
            base = base[:-1] if path[0] == "super" else base
            path = path[1:]
        return base + path
    return module + path if (*module, path[0]) in modules else None


def largest_circle(imports: dict[Path, set[Path]]) -> list[Path]:
    """The most modules of which each leads to each other (Tarjan's strongly connected components)."""
    order: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    open_modules: list[Path] = []
    largest: list[Path] = []

    def visit(module: Path) -> None:
        nonlocal largest
        order[module] = lowest[module] = len(order)
        open_modules.append(module)
        for other in imports[module]:
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in open_modules:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            start = open_modules.index(module)
            circle = open_modules[start:]
            del open_modules[start:]
            largest = max(largest, circle, key=len)

    sys.setrecursionlimit(100_000)
    for module in imports:
        if module not in order:
            visit(module)
    return largest


def circle_offences(found: dict[str, dict[Path, str]]) -> list[str]:
    offences = []
    for crate, modules in found.items():
        circle = largest_circle(imports_of(modules))
        limit = KNOWN_CIRCLES.get(crate, CIRCLE_LIMIT)
        if len(circle) > limit:
            names = ", ".join("::".join(module) or "lib" for module in sorted(circle))
            offences.append(f"crates/{crate}: {len(circle)} files import one another, {limit} may: {names}")
        if crate in KNOWN_CIRCLES and len(circle) < limit:
            offences.append(f"crates/{crate}: its circle has {len(circle)} files now; write that down here")
    return offences


def room_offences(found: dict[str, dict[Path, str]]) -> list[str]:
    offences = []
    for crate, modules in found.items():
        between: dict[Path, set[Path]] = {}
        for module, others in imports_of(modules).items():
            if module:
                between.setdefault(module[:1], set()).update(other[:1] for other in others if other)
        for room in {other for others in between.values() for other in others}:
            between.setdefault(room, set())
        circle = largest_circle({room: others - {room} for room, others in between.items()})
        count, limit = len(circle) if len(circle) > 1 else 0, KNOWN_ROOMS.get(crate, 0)
        if count > limit:
            names = ", ".join(room for (room,) in sorted(circle))
            offences.append(f"crates/{crate}: {count} rooms use one another, {limit} may: {names}")
        if count < limit:
            offences.append(f"crates/{crate}: its circle of rooms has {count} now; write that down here")
    return offences


def layer_offences(found: dict[str, dict[Path, str]]) -> list[str]:
    offences = []
    for crate, layers in LAYERS.items():
        modules = found[crate]
        imports = imports_of(modules)
        height = {layer: place for place, layer in enumerate(layers)}
        for module in filter(None, modules):
            if module[0] not in height:
                offences.append(f"crates/{crate}: {module[0]} is not among its layers")
                continue
            paths = re.findall(r"\bcrate::(\w+)", modules[module])
            used = {path[0] for path in imports[module] if path} | {path for path in paths if path in height}
            for layer in sorted(used):
                upwards = height.get(layer, 0) > height[module[0]]
                if upwards and (crate, module[0], layer) not in KNOWN_ARROWS:
                    offences.append(f"crates/{crate}: {'::'.join(module)} uses {layer}, a layer above it")
    return offences


def method_offences(found: dict[str, dict[Path, str]]) -> list[str]:
    methods: collections.Counter[tuple[str, str]] = collections.Counter()
    for crate, modules in found.items():
        for code in modules.values():
            for name, body in IMPLEMENTATION.findall(code):
                methods[crate, name] += len(re.findall(r"\bfn\s+\w+", body))
    offences = []
    for (crate, name), count in methods.items():
        limit = KNOWN_METHODS.get((crate, name), METHODS_LIMIT)
        if count > limit and (crate, name) not in WITHOUT_LIMIT:
            offences.append(f"crates/{crate}: {name} has {count} methods, {limit} are allowed")
    for (crate, name), limit in KNOWN_METHODS.items():
        if methods[crate, name] < limit:
            offences.append(
                f"crates/{crate}: {name} has {methods[crate, name]} methods now; write that down here"
            )
    return offences


def name_offences() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.rs", "*.py"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    sources = [ROOT / line for line in listed.stdout.splitlines()]
    words = set(
        re.findall(
            r"\w+",
            "\n".join(path.read_text(encoding="utf-8") for path in sources if path.is_file()),
        )
    )
    # The last word of a name may be a file's.
    words.update(path.stem for path in sources)
    offences = []
    for page in [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for name in DOCUMENTED.findall(line):
                if name.split("::")[-1] not in words:
                    offences.append(f"{page.relative_to(ROOT)}:{number}: nothing is called `{name}`")
    return offences


def main() -> int:
    found = crates()
    offences = circle_offences(found) + room_offences(found) + layer_offences(found)
    offences += method_offences(found) + name_offences()
    print("\n".join(offences) or "structure: all hold")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
