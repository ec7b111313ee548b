"""The wizard in a real browser, for tests: how it is started, and how its pages are gone through."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator

import foreign_databases as databases
from playwright.sync_api import Browser, BrowserContext, Page, expect

CHROMIUM = "/usr/bin/chromium"
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/start/[0-9a-f]{32}")
# The machine may be busy, and programs under test may be built for debugging.
PATIENCE_MS = 60_000
AXE = pathlib.Path(
    os.environ.get("BULKWIRE_CLIENT_CACHE") or pathlib.Path.home() / ".cache" / "bulkwire" / "clients"
).joinpath("axe", "node_modules", "axe-core", "axe.min.js")

expect.set_options(timeout=PATIENCE_MS)


class Wizard:
    """A running wizard and a page of it."""

    def __init__(self, process: subprocess.Popen[str], address: str, origin: str, browser: Browser) -> None:
        self.process = process
        self.address = address
        self.origin = origin
        self.context: BrowserContext = browser.new_context(accept_downloads=True)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        # What scripts of the page have thrown, or been forbidden.
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(address)

    def _heard(self, message) -> None:
        # An answer that does not come is shown in the page, which tests look at.
        if message.type == "error" and "net::ERR" not in message.text:
            self.faults.append(message.text)

    def title_is(self, title: str) -> None:
        """Waits for the page of this title."""
        expect(self.page.locator("h1")).to_have_text(title)

    def next(self) -> None:
        """Presses the button that leads on."""
        self.page.locator("button.primary:visible").last.click()

    def see_file(self, path: pathlib.Path | str) -> None:
        """Names a file on the page of an end, and goes on."""
        self.page.locator("[name=kind][value=file]").check()
        self.page.locator("#path").fill(str(path))
        self.next()

    def see_server(self, server, table: str = "", query: str = "", password: str | None = None) -> None:
        """Names a SQL Server on the page of an end, and goes on."""
        page = self.page
        page.locator("[name=kind][value=server]").check()
        page.locator("#host").fill(f"{server.host}:{server.port}")
        page.locator("#database").fill("master")
        page.locator("#user").fill(server.user)
        page.locator("#password").fill(server.password if password is None else password)
        if not page.locator("[name=trust]").is_visible():
            page.locator(".of-login summary").click()
        page.locator("[name=trust]").check()
        if query:
            page.locator("[name=what][value=query]").check()
            page.locator("#query").fill(query)
        else:
            page.locator("#table").fill(table)
        self.next()

    def run(self) -> None:
        """From the page of columns on to the end of the copy."""
        self.title_is("Which columns?")
        self.next()
        self.title_is("How should they be written?")
        self.next()
        self.title_is("Ready to run")
        self.page.get_by_role("button", name="Run the copy").click()

    def has_no_barriers(self) -> None:
        """Checks the page with axe."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run({ resultTypes: ['violations'] })")
        told = [
            (fault["id"], fault["help"], [node["html"][:200] for node in fault["nodes"]][:3])
            for fault in found["violations"]
        ]
        assert told == [], f"{self.page.url}: {told}"


@contextlib.contextmanager
def wizard(binaries: pathlib.Path, browser: Browser) -> Iterator[Wizard]:
    """A wizard of its own, whose page has thrown nothing at the end."""
    process = subprocess.Popen(
        [binaries / "bulkwire", "wizard", "--no-open"],
        env=databases.environment(binaries),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, f"the wizard did not start: {line!r}"
        opened = Wizard(process, found[0], found[1], browser)
        try:
            yield opened
            assert process.poll() is None, "the wizard died"
            assert opened.faults == []
        finally:
            opened.context.close()
    finally:
        process.terminate()
        process.wait(timeout=20)
