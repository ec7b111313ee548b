"""The surroundings in which what a page prints is run: a reader's, with nothing set for the tests.

Locale, time zone and home folder are others each day; `BULKWIRE_SURROUNDINGS` takes one by its number.
"""

from __future__ import annotations

import os
import pathlib
import time

DAY = 24 * 60 * 60
LOCALES = ("C", "de_DE.UTF-8", "ja_JP.UTF-8", "POSIX", "tr_TR.UTF-8", "C.UTF-8", "ar_EG.UTF-8")
ZONES = ("Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "UTC", "Europe/Berlin")
# What would tell a program of this machine's settings.
SETTINGS = ("LANG", "LANGUAGE", "LC_", "TZ", "PYTHON", "BULKWIRE_", "XDG_", "HOME")


def number_of_today() -> int:
    return int(os.environ.get("BULKWIRE_SURROUNDINGS", time.time() // DAY))


def surroundings(folder: pathlib.Path, **more: str) -> dict[str, str]:
    """An environment without settings of ours, whose home is a folder without anything in it."""
    number = number_of_today()
    home = folder / "home of nobody"
    home.mkdir(exist_ok=True)
    kept = {name: text for name, text in os.environ.items() if not name.startswith(SETTINGS)}
    # Shells complain of LC_ALL if the machine lacks the locale; of LANG they do not.
    language, zone = LOCALES[number % len(LOCALES)], ZONES[number % len(ZONES)]
    return {**kept, "LANG": language, "TZ": zone, "HOME": str(home), **more}
