"""The crates within the programs of a target: for the bill of materials and the licences."""

import collections
import hashlib
import json
import pathlib
import tomllib
import uuid

from release import PROGRAM, Release, output

LICENCE_FILES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "license*", "copyright*", "UNLICENSE*")


class Dependencies:
    """What the programs of one target are made of, or what some crates are."""

    def __init__(self, release: Release, triple: str, crates: tuple[str, ...] = ()) -> None:
        self.release, self.triple = release, triple
        words = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
        found = json.loads(output(*words, folder=release.root))
        self.packages = {package["id"]: package for package in found["packages"]}
        nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
        lock = tomllib.loads((release.root / "Cargo.lock").read_text())["package"]
        self.sums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in lock}
        self.programs = crates or (PROGRAM,)
        waiting = [key for key, package in self.packages.items() if package["name"] in self.programs]
        self.uses: dict[str, list[str]] = {}
        while waiting:
            key = waiting.pop()
            if key in self.uses:
                continue
            # What only tests or build scripts need is not in a program.
            self.uses[key] = sorted(
                edge["pkg"]
                for edge in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in edge["dep_kinds"])
            )
            waiting += self.uses[key]

    def crates(self) -> list[dict]:
        """Every crate, by name and version."""
        found = [self.packages[key] for key in self.uses]
        return sorted(found, key=lambda crate: (crate["name"], crate["version"]))

    def bill_of_materials(self) -> bytes:
        """A CycloneDX document (version 1.5)."""
        version = self.release.version
        own = f"pkg:generic/bulkwire@{version}?target={self.triple}"
        components, graph = [], []
        for crate in self.crates():
            component = {
                "type": "library",
                "bom-ref": reference(crate),
                "name": crate["name"],
                "version": crate["version"],
                "purl": reference(crate),
                "licenses": [{"expression": (crate["license"] or "").replace("/", " OR ")}],
            }
            checksum = self.sums[crate["name"], crate["version"]]
            if checksum:
                component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
            components.append(component)
            uses = [reference(self.packages[key]) for key in self.uses[crate["id"]]]
            graph.append({"ref": reference(crate), "dependsOn": sorted(set(uses))})
        roots = [reference(crate) for crate in self.crates() if crate["name"] in self.programs]
        content = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            # Derived from the content, so that two builds agree.
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([own, components]))}",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": own,
                    "name": "bulkwire",
                    "version": version,
                    "purl": own,
                    "licenses": [{"expression": "MIT OR Apache-2.0"}],
                }
            },
            "components": components,
            "dependencies": [{"ref": own, "dependsOn": sorted(roots)}, *graph],
        }
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()

    def licences(self) -> str:
        """Names and texts of the licences of everything within the programs."""
        texts: dict[str, list[str]] = collections.defaultdict(list)
        lines = ["What bulkwire's programs and libraries contain, and under which licences.", ""]
        for crate in self.crates():
            if crate["source"] is None:
                continue
            name = f"{crate['name']} {crate['version']}"
            lines.append(f"{name}: {crate['license']}")
            for text in licence_texts(pathlib.Path(crate["manifest_path"]).parent):
                texts[text].append(name)
        for text, names in sorted(texts.items(), key=lambda entry: (entry[1], digest(entry[0]))):
            lines += ["", "=" * 80, ", ".join(dict.fromkeys(names)), "=" * 80, "", text]
        return "\n".join(lines) + "\n"


def reference(crate: dict) -> str:
    """The crate's package URL; those of this workspace are not on crates.io."""
    kind = "cargo" if crate["source"] else "generic"
    return f"pkg:{kind}/{crate['name']}@{crate['version']}"


def licence_texts(folder: pathlib.Path) -> list[str]:
    files = {path for pattern in LICENCE_FILES for path in folder.glob(pattern) if path.is_file()}
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(files)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
