"""Runs the recipes of docs/package.md for Airflow and Dagster as they stand there.

    python clients/check_recipes.py --programs DIRECTORY [--airflow PYTHON] [--dagster PYTHON]

PYTHON has the package in question (apache-airflow with apache-airflow-providers-standard; dagster). The
folder /srv/jobs of the recipes becomes a temporary one, whose package copies a file.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import tempfile

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "package.md"
PACKAGE = """\
[variables]
day = { type = "date", default = 2026-11-23 }

[tasks.load]
type = "copy"
source = "in.csv"
destination = "out-${day}.csv"
"""
AIRFLOW = """
import pendulum
from airflow.sdk import DAG

with DAG("recipe", schedule=None, start_date=pendulum.datetime(2026, 11, 1)) as dag:
{recipe}"""
DAGSTER = """
{recipe}

assert dagster.materialize([orders]).success
"""


def recipe(title: str, folder: pathlib.Path) -> str:
    """The code below a title of the page, in another folder."""
    text = PAGE.read_text().split(f"**{title}.**")[1].split("```python\n")[1].split("```")[0]
    return text.replace("/srv/jobs", str(folder))


def run(python: pathlib.Path, code: str, programs: pathlib.Path, folder: pathlib.Path) -> None:
    script = folder / "recipe.py"
    script.write_text(code)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{python.parent}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "DAGSTER_HOME": "",
    }
    if "airflow" in code:
        (folder / "dags").mkdir()
        script.rename(folder / "dags" / "recipe.py")
        for words in (["db", "migrate"], ["dags", "reserialize"], ["dags", "test", "recipe", "2026-11-24"]):
            command = [python.parent / "airflow", *words]
            subprocess.run(command, env=environment, cwd=folder, check=True)
        return
    subprocess.run([python, script], env=environment, cwd=folder, check=True)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--airflow", type=pathlib.Path)
    parser.add_argument("--dagster", type=pathlib.Path)
    arguments = parser.parse_args()
    for title, python in (("Airflow", arguments.airflow), ("Dagster", arguments.dagster)):
        if python is None:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "state").mkdir()
            (folder / "orders.toml").write_text(PACKAGE)
            (folder / "in.csv").write_text("id\n1\n")
            code = recipe(title, folder)
            if title == "Airflow":
                code = AIRFLOW.format(recipe="".join(f"    {line}\n" for line in code.splitlines()))
            else:
                code = DAGSTER.format(recipe=code)
            run(python.absolute(), code, arguments.programs.absolute(), folder)
            day = "2026-11-24" if title == "Airflow" else "2026-11-23"
            assert (folder / f"out-{day}.csv").read_text() == "id\n1\n", os.listdir(folder)
            print(f"{title}: the recipe ran")


if __name__ == "__main__":
    main()
