"""The formula of Homebrew: it installs the archives of a release, for the systems that were built."""

import hashlib

from release import Release

SYSTEMS = {
    ("macos", "arm"): "aarch64-apple-darwin",
    ("macos", "intel"): "x86_64-apple-darwin",
    ("linux", "arm"): "aarch64-unknown-linux-gnu",
    ("linux", "intel"): "x86_64-unknown-linux-gnu",
}


def write_formula(release: Release, address: str) -> bool:
    """Writes bulkwire.rb if Homebrew can use an archive. Archives are at `address` on the web."""
    blocks = []
    for system in ("macos", "linux"):
        parts = []
        for processor in ("arm", "intel"):
            archive = release.out / f"{release.name(SYSTEMS[system, processor])}.tar.gz"
            if archive.is_file():
                digest = hashlib.sha256(archive.read_bytes()).hexdigest()
                parts += [
                    f"    on_{processor} do",
                    f'      url "{address.rstrip("/")}/{archive.name}"',
                    f'      sha256 "{digest}"',
                    "    end",
                ]
        if parts:
            blocks += ["", f"  on_{system} do", *parts, "  end"]
    if not blocks:
        return False
    lines = [
        "class Bulkwire < Formula",
        '  desc "Moves tables in and out of SQL Server at the speed of the wire"',
        f'  homepage "{address.rstrip("/")}"',
        f'  version "{release.version}"',
        '  license any_of: ["MIT", "Apache-2.0"]',
        *blocks,
        "",
        "  def install",
        # Boost and SQL Server's own tools have a bcp too.
        '    bin.install Dir["bin/*"].reject { |path| File.basename(path) == "bcp" }',
        '    (libexec/"bin").install_symlink bin/"bulkwire" => "bcp"',
        '    man1.install Dir["share/man/man1/*"]',
        '    bash_completion.install "share/completions/bulkwire.bash" => "bulkwire"',
        '    zsh_completion.install "share/completions/_bulkwire"',
        '    fish_completion.install "share/completions/bulkwire.fish"',
        '    doc.install "README.md", "CHANGELOG.md", "THIRD-PARTY-LICENSES.txt"',
        "  end",
        "",
        "  def caveats",
        '    "bcp is in #{opt_libexec}/bin: put that folder first on the search path, or say bulkwire bcp"',
        "  end",
        "",
        "  test do",
        '    assert_match version.to_s, shell_output("#{bin}/bulkwire --version")',
        "  end",
        "end",
    ]
    (release.out / "bulkwire.rb").write_text("\n".join(lines) + "\n")
    return True
