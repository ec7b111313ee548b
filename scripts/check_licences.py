"""Checks that every crate of the dependency tree has a licence that we accept.

Reads `cargo metadata`; an SPDX expression passes if some choice of its OR branches is wholly accepted.
Exit status 1 and one line per offender otherwise.
"""

import json
import re
import subprocess
import sys

ACCEPTED = {
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
}

TOKEN = re.compile(r"\(|\)|\bAND\b|\bOR\b|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.-]+)?")


def accepted(expression: str) -> bool:
    """Evaluates an SPDX expression (AND binds tighter than OR; `/` is the old spelling of OR)."""
    tokens = TOKEN.findall(expression.replace("/", " OR "))
    position = 0

    def peek() -> str | None:
        return tokens[position] if position < len(tokens) else None

    def advance() -> str:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def either() -> bool:
        result = both()
        while peek() == "OR":
            advance()
            result = both() or result
        return result

    def both() -> bool:
        result = single()
        while peek() == "AND":
            advance()
            result = single() and result
        return result

    def single() -> bool:
        token = advance()
        if token == "(":
            result = either()
            advance()
            return result
        return token in ACCEPTED

    return either()


def main() -> int:
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--locked"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    offenders = [
        f"{package['name']} {package['version']}: {package['license'] or 'no licence named'}"
        for package in metadata["packages"]
        if not package["license"] or not accepted(package["license"])
    ]
    print("\n".join(offenders) or f"licences: {len(metadata['packages'])} crates, all accepted")
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main())
