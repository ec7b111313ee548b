"""The Singer target, fed with messages."""

from __future__ import annotations

import datetime as dt
import io
import json
import pathlib
import subprocess
import sys

import bulkwire
import pytest
from bulkwire.singer import run

SCHEMA = {
    "type": "SCHEMA",
    "stream": "orders",
    "key_properties": ["id"],
    "schema": {
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["null", "string"], "maxLength": 30},
            "amount": {"type": ["null", "number"]},
            "paid": {"type": ["null", "boolean"]},
            "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
            "day": {"type": ["null", "string"], "format": "date"},
            "lines": {"type": ["null", "array"]},
        }
    },
}


def record(number: int, stream: str = "orders", **more: object) -> dict:
    return {"type": "RECORD", "stream": stream, "record": {"id": number, **more}}


def state(value: int) -> dict:
    return {"type": "STATE", "value": {"bookmark": value}}


def fed(place_url: str, *messages: dict, **settings: object) -> list[int]:
    """The states that the target writes."""
    out = io.StringIO()
    run([json.dumps(message) for message in messages], out, {"url": place_url, "schema": "raw", **settings})
    return [json.loads(line)["bookmark"] for line in out.getvalue().splitlines()]


@pytest.fixture
def url(bulkwire_server, bulkwire_db) -> str:
    return bulkwire_server.url_of(bulkwire_db.fetch("SELECT DB_NAME()")[0][0])


def test_types_keys_and_states(url, bulkwire_db):
    whole = {"name": "Łódź", "amount": 1.5, "paid": True, "at": "2024-02-29T12:00:00.5Z", "day": "2024-02-29", "lines": [{"n": 1}]}
    first = [SCHEMA, record(1, **whole), record(2), state(1), record(2, name="again"), state(2)]
    assert fed(url, *first) == [2]
    rows = bulkwire_db.fetch("SELECT * FROM raw.orders ORDER BY id")
    moment = dt.datetime(2024, 2, 29, 12, 0, 0, 500_000, tzinfo=dt.timezone.utc)
    assert rows == [(1, "Łódź", 1.5, True, moment, moment.date(), '[{"n": 1}]'), (2, "again", *[None] * 5)]
    # Another run brings a record again, and a column.
    wider = {**SCHEMA, "schema": {"properties": {**SCHEMA["schema"]["properties"], "new": {"type": ["string", "null"]}}}}
    assert fed(url, wider, record(2, new="x"), {"type": "ACTIVATE_VERSION", "stream": "orders", "version": 1}, state(3)) == [3]
    assert bulkwire_db.fetch("SELECT id, name, new FROM raw.orders ORDER BY id") == [(1, "Łódź", None), (2, None, "x")]


def test_states_wait_for_their_rows(url, bulkwire_db):
    log = {**SCHEMA, "stream": "log", "key_properties": []}
    messages = [SCHEMA, log]
    for number in range(10):
        messages += [record(number), record(number, "log"), state(number)]
    # The state of a row is written when the rows before it are committed, and the last one always.
    assert fed(url, *messages, batch_rows=8) == [2, 6, 9]
    assert bulkwire_db.fetch("SELECT (SELECT COUNT(*) FROM raw.orders), (SELECT COUNT(*) FROM raw.log)") == [(10, 10)]
    with pytest.raises(bulkwire.Error):
        fed(url, SCHEMA, record(50), state(50), record(51, name="x" * 31), state(51))
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM raw.orders WHERE id >= 50") == [(0,)]


def test_wrong_messages(url):
    for messages, text in [
        ([record(1)], "before its schema"),
        ([{**SCHEMA, "key_properties": ["nowhere"]}], "nowhere"),
        ([{"type": "BATCH"}], "BATCH"),
    ]:
        with pytest.raises(bulkwire.UsageError, match=text):
            fed(url, *messages)


def test_the_program(url, bulkwire_db, tmp_path):
    config = tmp_path / "target.json"
    config.write_text(json.dumps({"url": url}))
    text = "".join(json.dumps(message) + "\n" for message in [SCHEMA, record(1), state(1)])
    command = [sys.executable, "-m", "bulkwire.singer", "--config", config]
    folder = pathlib.Path(bulkwire.__file__).parent.parent
    ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False, cwd=folder)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, '{"bookmark": 1}\n', "")
    assert bulkwire_db.fetch("SELECT id FROM orders") == [(1,)]
