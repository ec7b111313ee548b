"""Stores that are elsewhere: buckets of another region, hosts that do not exist."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest

from conftest import Endpoint, serve
from object_servers import OtherRegion, running, s3_environment

MOVED = "The bucket you are attempting to access must be addressed using the specified endpoint."
WRONG = "The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-west-1'"


@pytest.fixture(scope="module")
def server(binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with serve(binaries, tmp_path_factory.mktemp("places")) as endpoint:
        done = endpoint.bulkwire("query", "CREATE TABLE t (id int NOT NULL)")
        assert done.returncode == 0, done.stderr
        yield endpoint


def refused(server: Endpoint, *words: str, env: dict[str, str]) -> str:
    """The one line in which a command says why it failed."""
    done = server.bulkwire(*words, env={**os.environ, **env})
    assert done.returncode in {1, 2}, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((301, "PermanentRedirect", MOVED, {"x-amz-bucket-region": "eu-west-1"}), "set AWS_REGION=eu-west-1"),
        # Other makers' stores do not name the region, and a name may be anything.
        ((301, "PermanentRedirect", MOVED, {}), "in another region; name it by AWS_REGION"),
        ((301, "PermanentRedirect", MOVED, {"x-amz-bucket-region": "a b;c"}), "in another region; name it"),
        (
            (400, "AuthorizationHeaderMalformed", WRONG, {"x-amz-bucket-region": "eu-west-1"}),
            "expecting 'eu-w",
        ),
    ],
    ids=["named", "nameless", "no-name", "signed-for-another"],
)
def test_a_bucket_of_another_region(
    server: Endpoint, answer: tuple[int, str, str, dict[str, str]], said: str
) -> None:
    with running(OtherRegion(answer)) as store:
        env = s3_environment(store.port)
        for words in [
            ("load", "t", "s3://lake/a.csv"),
            ("load", "t", "s3://lake/*.csv"),
            ("export", "t", "s3://lake/a.csv"),
            ("export", "t", "s3://lake/a/", "--split-rows", "5", "--format", "csv"),
        ]:
            line = refused(server, *words, env=env)
            assert said in line and "s3://lake/" in line, line
        # What is no passing trouble is not tried again: a look, and what says why.
        assert len(store.requests) <= 12, store.requests


@pytest.mark.parametrize("kind", ["s3", "https"])
def test_a_host_that_does_not_exist_is_named(server: Endpoint, kind: str) -> None:
    """Where no name server answers, this is a look-up that failed, and is tried for a second."""
    host = "no-such-host.invalid"
    env = {**s3_environment(0), "AWS_ENDPOINT_URL": f"https://{host}", "BULKWIRE_OBJECTS_RETRY_FOR": "1"}
    url = "s3://lake/a.csv" if kind == "s3" else f"https://{host}/a.csv"
    line = refused(server, "load", "t", url, env=env)
    assert host in line.replace(url, "") and url in line, line
