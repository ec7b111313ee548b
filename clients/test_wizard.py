"""Whole journeys through `bulkwire wizard` in a real browser."""

from __future__ import annotations

import http.client
import http.server
import json
import pathlib
import subprocess
import threading
from collections.abc import Iterator

import foreign_databases as databases
import pyarrow.parquet
import pytest
from browser import CHROMIUM, Wizard
from browser import wizard as started
from playwright.sync_api import Browser, expect, sync_playwright

from conftest import serve

PARTS = """\
PARTS ON 2026-11-23
ID    NAME        PRICE MADE
000012hammer      12.50 2026-01-31
000007nail         0.05 2025-11-02
000100saw         27.99
"""
# Rows without end, for copies that are broken off.
ENDLESS = "SELECT value FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(900000000000 AS bigint))"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def wizard(binaries, browser) -> Iterator[Wizard]:
    with started(binaries, browser) as opened:
        yield opened


def rows(server, query: str) -> list[str]:
    """The lines of a result as CSV, without the header."""
    done = server.bulkwire("export", "--query", query, "-", "--format", "csv", "--quiet")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:]


def test_a_csv_file_becomes_a_table(wizard, server, tmp_path):
    path = tmp_path / "kunden.csv"
    path.write_bytes('id;name;amount\n1;Jürgen;12.50\n2;"Zoë; Köln";\n3;Bob;7.00\n'.encode("cp1252"))
    page = wizard.page
    wizard.see_file(path)
    wizard.title_is("How is the text to be read?")
    expect(page.locator("#encoding")).to_have_value("1252")
    expect(page.locator("#delimiter")).to_have_value(";")
    expect(page.locator("#look")).to_contain_text("Zoë; Köln")
    # A correction is seen at once, and so is its repair.
    page.locator("#delimiter").fill(",")
    expect(page.locator("#look tbody tr").first).to_contain_text("1;Jürgen;12.50")
    page.locator("#encoding").fill("klingon")
    expect(page.locator("#look")).to_contain_text("unknown encoding")
    page.locator("#encoding").fill("1252")
    page.locator("#delimiter").fill(";")
    expect(page.locator("#look tbody tr").first).to_contain_text("Jürgen")
    page.get_by_label("Name of column 3").fill("betrag")

    page.get_by_role("button", name="Types of the whole file").click()
    wizard.title_is("Types of the whole file")
    expect(page.locator("#types")).to_contain_text("All 3 rows were read.")
    row = page.locator("#types tbody tr", has_text="betrag")
    expect(row).to_contain_text("decimal(9, 2)")
    expect(row).to_contain_text("12.50")
    wizard.next()
    wizard.title_is("Where do they go?")
    wizard.see_server(server, "dbo.kunden")
    wizard.title_is("Which columns?")
    page.get_by_label("Expression for name").fill("UPPER(name)")
    expect(page.locator("#preview")).to_contain_text("ZOË; KÖLN")
    expect(page.locator("#preview")).to_contain_text("All 3 rows of the source: 3 come out, none is refused.")
    wizard.next()
    wizard.title_is("How should they be written?")
    wizard.next()
    wizard.title_is("Ready to run")
    expect(page.locator("#plan")).to_contain_text("CREATE TABLE")
    command = page.locator("#command").inner_text()
    assert "--encoding=1252" in command and server.password not in page.content(), command
    page.get_by_role("button", name="Run the copy").click()
    wizard.title_is("Done")
    assert rows(server, "SELECT id, name, betrag FROM kunden ORDER BY id") == [
        "1,JÜRGEN,12.50",
        "2,ZOË; KÖLN,",
        "3,BOB,7.00",
    ]


def test_numbers_and_dates_of_another_country_reach_an_existing_table(wizard, server, tmp_path):
    made = server.bulkwire("query", "CREATE TABLE dbo.bestellung (id int, betrag decimal(9, 2), tag date)")
    assert made.returncode == 0, made.stderr
    path = tmp_path / "bestellung.csv"
    path.write_text("id;betrag;tag\n1;1.861,80;03/04/2026\n2;2,50;31/12/2025\nSumme;1.864,30;\n")
    page = wizard.page
    wizard.see_file(path)
    wizard.title_is("How is the text to be read?")
    page.locator("#decimal").select_option(",")
    page.locator("#thousands").select_option(".")
    page.locator("#date_order").select_option("dmy")
    page.locator("#skip_footer").fill("1")
    expect(page.locator("#look")).not_to_contain_text("Summe")
    wizard.next()
    wizard.title_is("Where do they go?")
    # A name is proposed by the file's.
    expect(page.locator("#table")).to_have_value("bestellung")
    wizard.see_server(server, "dbo.bestellung")
    wizard.title_is("Which columns?")
    expect(page.locator("#preview")).to_contain_text("2 come out, none is refused")
    wizard.next()
    wizard.title_is("How should they be written?")
    wizard.next()
    wizard.title_is("Ready to run")
    command = page.locator("#command").inner_text()
    for option in ["--decimal=,", "--thousands=.", "--date-order=dmy", "--skip-footer=1"]:
        assert option in command, command
    page.get_by_role("button", name="Run the copy").click()
    wizard.title_is("Done")
    expect(page.get_by_role("button", name="Run again, and add the rows once more")).to_be_visible()
    assert rows(server, "SELECT id, betrag, tag FROM bestellung ORDER BY id") == [
        "1,1861.80,2026-04-03",
        "2,2.50,2025-12-31",
    ]


def test_breaks_of_fixed_widths_are_moved_by_hand(wizard, server, tmp_path):
    path = tmp_path / "parts.txt"
    path.write_text(PARTS)
    page = wizard.page
    wizard.see_file(path)
    wizard.title_is("How is the text to be read?")
    page.locator("[name=layout][value=fixed]").check()
    page.locator("#skip_lines").fill("1")
    page.locator("[name=has_header]").check()
    breaks = page.locator("#breaks")
    breaks.fill("6, 15, 24")
    expect(page.locator("#look thead")).to_contain_text("6 to 14")
    handles = page.locator(".ruler .break")
    expect(handles).to_have_count(3)

    # The second break is dragged three places to the right, where prices begin.
    page.locator(".ruler .lines .line").first.scroll_into_view_if_needed()
    scale = page.locator(".ruler .scale").bounding_box()
    first, second = (handles.nth(number).bounding_box() for number in (0, 1))
    place = (second["x"] - first["x"]) / 9
    grip = (second["x"] + second["width"] / 2, scale["y"] + scale["height"] + 10)
    page.mouse.move(*grip)
    page.mouse.down()
    page.mouse.move(grip[0] + place, grip[1])
    page.mouse.move(grip[0] + 3 * place, grip[1], steps=3)
    page.mouse.up()
    expect(breaks).to_have_value("6, 18, 24")
    expect(page.locator("#look thead")).to_contain_text("6 to 17")
    # A click sets one, a double click takes it away.
    page.mouse.click(first["x"] + first["width"] / 2 + 4 * place, grip[1])
    expect(breaks).to_have_value("6, 10, 18, 24")
    expect(handles).to_have_count(4)
    expect(page.locator("#look thead")).to_contain_text("6 to 9")
    page.locator(".ruler .break[data-place='10']").dblclick()
    expect(breaks).to_have_value("6, 18, 24")
    expect(page.locator("#look thead")).to_contain_text("18 to 23")
    expect(page.locator("#look tbody tr").first).to_contain_text("hammer")

    page.get_by_role("button", name="Types of the whole file").click()
    wizard.title_is("Types of the whole file")
    expect(page.locator("#types tbody tr", has_text="PRICE")).to_contain_text("decimal(9, 2)")
    expect(page.locator("#types tbody tr", has_text="MADE")).to_contain_text("date")
    page.get_by_role("button", name="Use these types").click()
    assert "SQLCHAR" in (tmp_path / "parts.fmt").read_text()
    wizard.title_is("Where do they go?")
    wizard.see_server(server, "dbo.parts")
    wizard.run()
    wizard.title_is("Done")
    assert rows(server, "SELECT ID, NAME, PRICE, MADE FROM parts ORDER BY ID") == [
        "000007,nail,0.05,2025-11-02",
        "000012,hammer,12.50,2026-01-31",
        "000100,saw,27.99,",
    ]


def test_the_ruler_obeys_the_keyboard(wizard, tmp_path):
    path = tmp_path / "japanese.txt"
    # A kanji takes two places in Shift-JIS, as in the format file.
    path.write_bytes("漢字ab 12\n日本cd 34\n".encode("cp932"))
    page = wizard.page
    wizard.see_file(path)
    wizard.title_is("How is the text to be read?")
    page.locator("#encoding").fill("932")
    page.locator("[name=layout][value=fixed]").check()
    page.locator("[name=has_header]").uncheck()
    expect(page.locator("#ruler-hint")).to_contain_text("counted in bytes")
    breaks = page.locator("#breaks")
    breaks.fill("7")
    expect(page.locator(".ruler .break")).to_have_count(1)
    expect(page.locator("#look thead")).to_contain_text("0 to 6")
    keys = page.get_by_role("slider", name="Place on the ruler")
    keys.focus()
    for key in ["ArrowRight"] * 4 + ["Enter"]:
        page.keyboard.press(key)
    expect(breaks).to_have_value("4, 7")
    expect(keys).to_have_attribute("aria-valuetext", "4, a break")
    expect(page.locator("#look tbody tr").first).to_contain_text("漢字")
    page.keyboard.press("Shift+ArrowLeft")
    expect(breaks).to_have_value("3, 7")
    expect(page.locator("#look")).to_contain_text("3 lies within a character of line 1")
    page.keyboard.press("PageDown")
    page.keyboard.press("Delete")
    expect(breaks).to_have_value("3")
    wizard.next()
    expect(page.locator("#breaks-error")).to_contain_text("A character of line 1 takes several bytes")


def test_postgresql_goes_to_sql_server(wizard, server, tmp_path):
    with databases.postgresql(pathlib.Path("/tmp") / f"bulkwire-wizard-{tmp_path.name}") as postgresql:
        postgresql.execute(
            "CREATE TABLE cities (id integer PRIMARY KEY, name text, area numeric(9,2))",
            "INSERT INTO cities VALUES (1, 'Köln', 405.02), (2, 'Łódź', NULL)",
        )
        page = wizard.page
        page.locator("[name=kind][value=database]").check()
        address = f"postgresql://bulk@127.0.0.1:{postgresql.port}/postgres"
        page.locator("#address").fill(address)
        page.locator("#password").fill(postgresql.password)
        page.get_by_role("button", name="Test the connection and list tables").locator("visible=true").click()
        expect(page.get_by_role("status").first).to_contain_text("Connected")
        page.locator("[name=picked]").first.check()
        wizard.next()
        wizard.title_is("Where do they go?")
        wizard.see_server(server, "dbo.cities")
        wizard.run()
        wizard.title_is("Done")
        assert postgresql.password not in page.content()
    assert rows(server, "SELECT id, name, area FROM cities ORDER BY id") == ["1,Köln,405.02", "2,Łódź,"]


def test_a_table_becomes_a_parquet_file(wizard, server, tmp_path):
    made = server.bulkwire("query", "CREATE TABLE shown (id int NOT NULL, name nvarchar(20)); "
                           "INSERT INTO shown VALUES (1, N'ä'), (2, NULL)")  # fmt: skip
    assert made.returncode == 0, made.stderr
    wizard.see_server(server, "dbo.shown")
    wizard.title_is("Where do they go?")
    wizard.see_file(tmp_path / "shown.parquet")
    wizard.run()
    wizard.title_is("Done")
    table = pyarrow.parquet.read_table(tmp_path / "shown.parquet")
    assert table.to_pydict() == {"id": [1, 2], "name": ["ä", None]}


def test_bad_rows_are_shown_before_and_behind_the_copy(wizard, server, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("id,amount\n1,10\n2,ten\n3\n4,40\n")
    page = wizard.page
    wizard.see_file(path)
    wizard.title_is("How is the text to be read?")
    expect(page.locator("#look tr.odd")).to_contain_text("expected 2 fields, found 1")
    wizard.next()
    wizard.see_server(server, "dbo.bad")
    wizard.title_is("Which columns?")
    page.get_by_label("Type of amount").fill("int")
    preview = page.locator("#preview")
    expect(preview).to_contain_text("All 4 rows of the source: 2 come out, 2 are refused.")
    expect(preview.locator(".refused")).to_contain_text("ten")
    wizard.next()
    wizard.title_is("How should they be written?")
    page.locator("#max_errors").fill("5")
    page.locator("#rejects").fill(str(tmp_path / "rejects.jsonl"))
    wizard.next()
    wizard.title_is("Ready to run")
    page.get_by_role("button", name="Run the copy").click()
    wizard.title_is("Done, without some rows")
    expect(page.locator("table.refused tbody tr")).to_have_count(2)
    expect(page.locator("table.refused")).to_contain_text("ten")
    assert rows(server, "SELECT id, amount FROM bad ORDER BY id") == ["1,10", "4,40"]
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == 2


def test_a_copy_is_cancelled(wizard, server, tmp_path):
    wizard.see_server(server, query=ENDLESS)
    wizard.title_is("Where do they go?")
    wizard.see_file(tmp_path / "endless.csv")
    wizard.run()
    wizard.title_is("Copying…")
    expect(wizard.page.locator("[data-live=rows]")).not_to_have_text("0")
    wizard.page.get_by_role("button", name="Cancel").click()
    wizard.title_is("Cancelled")
    assert not (tmp_path / "endless.csv").exists()


def test_a_wrong_password_is_said_beside_its_field(wizard, server):
    page = wizard.page
    wizard.see_server(server, "dbo.t", password="wrong")
    expect(page.locator("#password-error")).to_contain_text("Login failed")
    # Nothing that was typed is lost, and the password is not sent back.
    expect(page.locator("#host")).to_have_value(f"{server.host}:{server.port}")
    expect(page.locator("#table")).to_have_value("dbo.t")
    expect(page.locator("#password")).to_have_value("")


def test_the_server_goes_away_in_the_middle(wizard, binaries, tmp_path):
    with serve(binaries, tmp_path, is_killed=True) as own:
        wizard.see_server(own, query=ENDLESS)
        wizard.title_is("Where do they go?")
        wizard.see_file(tmp_path / "endless.csv")
        wizard.run()
        wizard.title_is("Copying…")
        expect(wizard.page.locator("[data-live=rows]")).not_to_have_text("0")
        own.kill()
        wizard.title_is("It failed")
        expect(wizard.page.get_by_role("alert").first).to_be_visible()
    assert not (tmp_path / "endless.csv").exists()


def answer(origin: str, method: str, path: str, headers: dict[str, str]) -> int:
    """The status of a bare request."""
    connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=60)
    connection.request(method, path, body="kind=file&path=%2Fetc%2Fpasswd&do=stay", headers=headers)
    return connection.getresponse().status


def test_a_foreign_page_cannot_talk_to_it(wizard, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b\n1,2\n")
    wizard.see_file(path)
    wizard.title_is("How is the text to be read?")
    cookies = {cookie["name"]: cookie for cookie in wizard.context.cookies(wizard.origin)}
    (name,) = cookies
    assert cookies[name]["httpOnly"] and cookies[name]["sameSite"] == "Strict"
    cookie = f"{name}={cookies[name]['value']}"
    host = wizard.origin.removeprefix("http://")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    own = {**form, "Host": host, "Cookie": cookie, "Origin": wizard.origin}
    assert answer(wizard.origin, "GET", "/source", {"Host": host}) == 403
    assert answer(wizard.origin, "GET", "/source", {"Host": "evil.example", "Cookie": cookie}) == 421
    assert answer(wizard.origin, "POST", "/source", {**own, "Origin": "http://evil.example"}) == 403
    assert answer(wizard.origin, "POST", "/source", {**form, "Host": host, "Cookie": cookie}) == 403
    assert answer(wizard.origin, "GET", wizard.address.removeprefix(wizard.origin), {"Host": host}) == 403
    assert answer(wizard.origin, "GET", "/source", own) == 200

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            fields = '<input name="kind" value="file"><input name="path" value="/etc/passwd">'
            form = f'<form method="post" action="{wizard.origin}/source">{fields}<button>go</button></form>'
            self.wfile.write(f'{form}<iframe src="{wizard.origin}/source"></iframe>'.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as foreign:
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        page = wizard.context.new_page()
        page.goto(f"http://127.0.0.1:{foreign.server_address[1]}/")
        asked = page.evaluate(
            "(at) => fetch(at, { credentials: 'include' }).then((found) => found.text(), () => 'refused')",
            f"{wizard.origin}/source",
        )
        assert asked == "refused"
        page.get_by_role("button", name="go").click()
        expect(page.locator("body")).to_contain_text("Another page has sent this request")
        page.close()
        foreign.shutdown()
    wizard.page.goto(f"{wizard.origin}/source")
    expect(wizard.page.locator("#path")).to_have_value(str(path))


def test_the_keyboard_alone_is_enough(wizard, tmp_path):
    (tmp_path / "in.csv").write_text("id,name\n1,anna\n2,bob\n")
    page = wizard.page

    def tab_to(selector: str) -> None:
        """Presses Tab until the element has the focus."""
        for _ in range(80):
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached by Tab on {page.url}")

    def type_in(selector: str, text: str) -> None:
        tab_to(selector)
        page.keyboard.press("Control+a")
        page.keyboard.type(text)

    wizard.title_is("Where do the rows come from?")
    type_in("#path", str(tmp_path / "in.csv"))
    tab_to("button.primary")
    page.keyboard.press("Enter")
    wizard.title_is("How is the text to be read?")
    type_in("#null_text", "anna")
    expect(page.locator("#look .null")).to_have_count(1)
    tab_to("button.primary:not(.unseen)")
    page.keyboard.press("Enter")
    wizard.title_is("Where do they go?")
    type_in("#path", str(tmp_path / "out.csv"))
    tab_to("button.primary")
    page.keyboard.press("Enter")
    for title in ["Which columns?", "How should they be written?", "Ready to run"]:
        wizard.title_is(title)
        tab_to("button.primary")
        page.keyboard.press("Enter")
    wizard.title_is("Done")
    assert (tmp_path / "out.csv").read_text() == "id,name\n1,\n2,bob\n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_barriers(wizard, server, tmp_path, scheme):
    (tmp_path / "parts.txt").write_text(PARTS.split("\n", 1)[1])
    page = wizard.page
    page.emulate_media(color_scheme=scheme)
    wizard.title_is("Where do the rows come from?")
    wizard.has_no_barriers()
    wizard.see_file(tmp_path / "parts.txt")
    wizard.title_is("How is the text to be read?")
    expect(page.locator(".ruler .keys")).to_be_visible()
    wizard.has_no_barriers()
    page.get_by_role("button", name="Types of the whole file").click()
    expect(page.locator("#types table")).to_be_visible()
    wizard.has_no_barriers()
    page.get_by_role("button", name="Use these types").click()
    wizard.title_is("Where do they go?")
    wizard.has_no_barriers()
    wizard.see_file(tmp_path / f"{scheme}.csv")
    wizard.title_is("Which columns?")
    expect(page.locator("#preview table")).to_be_visible()
    wizard.has_no_barriers()
    wizard.next()
    wizard.title_is("How should they be written?")
    wizard.has_no_barriers()
    wizard.next()
    wizard.title_is("Ready to run")
    expect(page.locator("#plan")).not_to_have_attribute("aria-busy", "true")
    wizard.has_no_barriers()
    page.get_by_role("button", name="Run the copy").click()
    wizard.title_is("Done")
    wizard.has_no_barriers()


def test_the_package_runs_the_same_copy(wizard, binaries, tmp_path):
    (tmp_path / "in.csv").write_text("id;name\n1;anna\n2;bob\n")
    wizard.see_file(tmp_path / "in.csv")
    wizard.title_is("How is the text to be read?")
    wizard.next()
    wizard.see_file(tmp_path / "out.parquet")
    wizard.title_is("Which columns?")
    wizard.page.locator("#where").fill("id > 1")
    wizard.next()
    wizard.next()
    wizard.title_is("Ready to run")
    wizard.page.locator("#file").fill(str(tmp_path / "copy.toml"))
    wizard.page.get_by_role("button", name="Save").click()
    expect(wizard.page.get_by_role("status").first).to_be_visible()
    done = subprocess.run(
        [binaries / "bulkwire", "run", tmp_path / "copy.toml"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pandas().to_json()) == {
        "id": {"0": "2"},
        "name": {"0": "bob"},
    }
