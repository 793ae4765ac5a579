"""Logs: what a line says, who may add to it, and what it never shows."""

import asyncio
import enum
import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.kinds import Key
from quiver.engine.observe import logs
from quiver.engine.observe.logformat import JsonFormatter
from quiver.engine.observe.redaction import HIDDEN, redact
from quiver.kube.request import Request

log = logging.getLogger("quiver.test")

JWT = "eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJlcm5l.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n7bq0\n-----END RSA PRIVATE KEY-----"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    switches = logging.logThreads, logging.logProcesses, logging.logMultiprocessing
    levels = {name: logging.getLogger(name).level for name in ("aiohttp.access", "asyncio")}
    yield
    logging.captureWarnings(capture=False)
    for handler in [ours for ours in root.handlers if isinstance(ours, logs._Handler)]:
        root.removeHandler(handler)
    root.setLevel(level)
    logging.logThreads, logging.logProcesses, logging.logMultiprocessing = switches
    for name, former in levels.items():
        logging.getLogger(name).setLevel(former)


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    logs.setup(format="json", level="info", stream=stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def only(stream: io.StringIO) -> dict[str, Any]:
    [line] = lines(stream)
    return line


def test_a_line_says_when_how_bad_who_and_what(stream: io.StringIO) -> None:
    log.warning("%d of %d replicas", 2, 3, extra={"replicas": 2})
    line = only(stream)
    assert line.pop("ts")[-1] == "Z"
    assert line == {
        "level": "warning",
        "logger": "quiver.test",
        "msg": "2 of 3 replicas",
        "replicas": 2,
    }


def test_times_are_rfc_3339_with_milliseconds() -> None:
    record = logging.makeLogRecord({"msg": "x", "created": 1767323045.6789})
    assert json.loads(JsonFormatter().format(record))["ts"] == "2026-01-02T03:04:05.678Z"


def test_what_is_bound_is_on_every_line_inside_and_on_none_outside(stream: io.StringIO) -> None:
    with logs.bound(controller="site", kind="Site", key=Key("team", "web"), reconcile_id="7"):
        log.info("inside")
        with logs.bound(phase="roll-out"):
            log.info("deeper")
    log.info("outside")
    inside, deeper, outside = lines(stream)
    expected = {"controller": "site", "kind": "Site", "namespace": "team", "name": "web"}
    assert inside.items() >= (expected | {"reconcileID": "7"}).items()
    assert deeper.items() >= (expected | {"phase": "roll-out"}).items()
    assert not expected.keys() & outside.keys()


async def test_reconciles_side_by_side_do_not_see_each_others_fields(
    stream: io.StringIO,
) -> None:
    both_in = asyncio.Barrier(2)

    async def reconcile(name: str) -> None:
        with logs.bound(key=Key("team", name)):
            await both_in.wait()
            logging.getLogger("third.party").warning("said %s", name)

    await asyncio.gather(reconcile("a"), reconcile("b"))
    assert {(line["name"], line["msg"]) for line in lines(stream)} == {
        ("a", "said a"),
        ("b", "said b"),
    }


def test_an_exception_is_a_field_of_the_same_line(stream: io.StringIO) -> None:
    log.error("failed", exc_info=ValueError("no bucket"))
    line = only(stream)
    assert line["msg"] == "failed"
    assert line["stacktrace"].endswith("ValueError: no bucket")


def test_a_level_that_is_off_writes_nothing(stream: io.StringIO) -> None:
    log.debug("quiet")
    logging.getLogger("aiohttp.access").info("GET /")
    assert not stream.getvalue()


def test_warnings_of_python_are_logged(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(capture=False)
    assert only(stream)["logger"] == "py.warnings"


def test_a_second_setup_replaces_the_first(stream: io.StringIO) -> None:
    second = io.StringIO()
    logs.setup(stream=second)
    log.info("once")
    assert not stream.getvalue()
    assert only(second)["msg"] == "once"


def test_people_read_one_line_with_its_fields() -> None:
    stream = io.StringIO()
    logs.setup(format="human", stream=stream)
    with logs.bound(controller="site", key=Key("team", "web")):
        log.info("rolled out", extra={"reason": "new image", "replicas": 3})
    line = stream.getvalue()
    assert line[12:] == (
        " INFO    quiver.test: rolled out"
        '  controller=site name=web namespace=team reason="new image" replicas=3\n'
    )


@pytest.mark.parametrize(("stream", "coloured"), [(Terminal(), True), (io.StringIO(), False)])
def test_only_a_terminal_gets_colours(
    stream: io.StringIO, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    logs.setup(format="human", stream=stream)
    log.error("bad")
    assert ("\x1b[" in stream.getvalue()) is coloured


def test_a_terminal_without_colours_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    logs.setup(format="human", stream=stream)
    log.error("bad")
    assert "\x1b[" not in stream.getvalue()


def test_a_wrong_log_call_shows_where_it_is_and_not_its_arguments(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    theirs = [handler for handler in root.handlers if not isinstance(handler, logs._Handler)]
    for handler in theirs:  # They raise what they cannot format.
        root.removeHandler(handler)
    try:
        log.info("%d replicas", "hunter2")
    finally:
        for handler in theirs:
            root.addHandler(handler)
    complaint = capsys.readouterr().err
    assert "test_logs.py" in complaint
    assert "hunter2" not in complaint + stream.getvalue()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("sent Bearer abcdef123456 to it", "abcdef123456"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("{'Authorization': 'Token s3cr3tvalue'}", "s3cr3tvalue"),
        ("{'Authorization': 'opaque-key-1'}", "opaque-key-1"),
        ('"proxy-authorization":"Basic dXNlcjpwYXNz"', "dXNlcjpwYXNz"),
        ("[('Authorization', 'Bearer abcdef123456')]", "abcdef123456"),
        ("proxy http://me:hunter2@proxy.local:3128 failed", "hunter2"),
        ("redis://:hunter2@cache:6379/0", "hunter2"),
        (f"key is {PEM} there", "MIIEpAIBAAKCAQEA"),
        (PEM.replace("\n", "\\n"), "7bq0"),
        (PEM[:50], "MIIEpAIB"),
        ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "BSU0EgUFJJVkFURSBLRVk"),
        (f"token {JWT} expired", "eyJpc3MiOiJrdWJlcm5l"),
        ("password=hunter2&user=me", "hunter2"),
        ('{"api_key": "hunter2"}', "hunter2"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text)
    assert HIDDEN in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Secret team/db-credentials has no key password",
        "the bearer of this is unknown",
        "https://example.com:8443/path?x=1",
        "apply Deployment team/web failed: 409 Conflict: token expected",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "git@github.com:team/web.git",
    ],
)
def test_what_does_not_look_like_a_secret_is_left_alone(text: str) -> None:
    assert redact(text) == text


WORDS = st.text(st.characters(codec="utf-8"), max_size=60)
TOKENS = st.text("abcdefgh01234567._-", min_size=12, max_size=40).map(lambda t: f"q{t}q")


@given(WORDS, TOKENS, st.sampled_from(["Bearer {}", "https://me:{}@host/", "password={}"]), WORDS)
def test_a_secret_is_found_whatever_is_around_it(
    before: str, secret: str, shape: str, after: str
) -> None:
    assert secret not in redact(f"{before} {shape.format(secret)} {after}")


def test_secrets_are_taken_out_of_messages_fields_and_tracebacks(stream: io.StringIO) -> None:
    extra = {"headers": {"Authorization": "abcdef123456"}, "urls": ["x://u:abcdef123456@h"]}
    error = ValueError("Bearer abcdef123456")
    with logs.bound(password="abcdef123456"):
        log.error("sent %s", "Bearer abcdef123456", extra=extra, exc_info=error)
    assert "abcdef123456" not in stream.getvalue()
    assert only(stream)["headers"] == {"Authorization": HIDDEN}


def test_a_struct_with_hidden_fields_is_not_taken_apart(stream: io.StringIO) -> None:
    request = Request(method="POST", path="/x", deadline=1.0, body=b"hunter2")
    log.info("sent", extra={"request": request})
    assert only(stream)["request"] == "POST /x"


class Colour(enum.StrEnum):
    RED = "red"


class Shade(str):
    __slots__ = ()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=20)
    | st.sampled_from([Colour.RED, Shade("x"), Key("a", "b"), object(), msgspec.UNSET]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)


@given(st.text(st.characters()), VALUES)
def test_every_record_is_one_line_of_json(message: str, value: object) -> None:
    fields = {"name": "x", "msg": message, "levelname": "INFO", "value": value}
    line = JsonFormatter().format(logging.makeLogRecord(fields))
    assert "\n" not in line
    assert json.loads(line)["level"] == "info"
