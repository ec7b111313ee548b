"""The tour in docs/ runs as it stands."""

import pathlib
import subprocess
import sys

TUTORIAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorial.py"


def test_the_tutorial_runs():
    done = subprocess.run([sys.executable, str(TUTORIAL)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "refused: row 0, column customer" in done.stdout
