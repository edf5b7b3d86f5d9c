"""Log lines: their shape, their fields, and what never gets into them."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from mco.runtime.logging import Logger, bound, configure, scrub


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The stream that log lines go to; the process's own logging is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure("debug", stream=stream, json=True)
    yield stream
    root.handlers[:], root.level = handlers, level


def parsed(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_its_fields(lines: io.StringIO) -> None:
    Logger("mco.test").info("pool rendered", pool="worker", seconds=0.25, names=["a", "b"], found=None)
    (line,) = parsed(lines)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "mco.test",
        "message": "pool rendered",
        "pool": "worker",
        "seconds": 0.25,
        "names": ["a", "b"],
        "found": None,
    }


def test_newlines_in_a_message_do_not_break_the_line(lines: io.StringIO) -> None:
    Logger("mco.test").info("one\ntwo", text="three\nfour")
    assert parsed(lines)[0]["text"] == "three\nfour"


def test_bound_fields_reach_the_tasks_started_inside(lines: io.StringIO) -> None:
    log = Logger("mco.test")

    async def work() -> None:
        log.info("inside", key="w1")

    async def main() -> None:
        with bound(controller="node"), bound(round=2):
            task = asyncio.create_task(work())
        log.info("outside")
        await task

    asyncio.run(main())
    outside, inside = [line for line in parsed(lines) if line["logger"] == "mco.test"]
    assert (inside["controller"], inside["round"], inside["key"]) == ("node", 2, "w1")
    assert "controller" not in outside


def test_a_field_never_hides_what_every_line_has(lines: io.StringIO) -> None:
    Logger("mco.test").info("the message", level="fatal", logger="x", message="another")
    line = parsed(lines)[0]
    assert (line["level"], line["logger"], line["message"]) == ("info", "mco.test", "the message")


def test_other_libraries_lines_have_the_same_shape(lines: io.StringIO) -> None:
    logging.getLogger("asyncio").warning("slow %s", "callback")
    assert parsed(lines)[0]["message"] == "slow callback"


def test_an_unexpected_error_carries_its_traceback(lines: io.StringIO) -> None:
    try:
        raise KeyError("Bearer abcdefghijk")
    except KeyError as error:
        Logger("mco.test").exception("handler failed", error)
    line = parsed(lines)[0]
    assert "test_logging.py" in line["traceback"]
    assert "abcdefghijk" not in line["traceback"]


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "bootstrap_token",
        "password",
        "client-secret",
        "authorization",
        "private_key",
        "key_data",
        "contents",
    ],
)
def test_fields_named_like_secrets_are_hidden_at_any_depth(lines: io.StringIO, name: str) -> None:
    Logger("mco.test").info("x", **{name: "s3cret"}, nested={"a": {name: "s3cret"}})
    assert "s3cret" not in lines.getvalue()
    assert parsed(lines)[0][name] == "[hidden]"


@pytest.mark.parametrize("name", ["node", "key", "certificate_name", "tokens_left", "path"])
def test_ordinary_fields_are_shown(lines: io.StringIO, name: str) -> None:
    Logger("mco.test").info("x", **{name: "visible"})
    assert parsed(lines)[0][name] == "visible"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("401 for Bearer abc.def-ghi_jkl", "401 for Bearer [hidden]"),
        ("source data:text/plain;base64,c2VjcmV0 is", "source data:text/plain;base64,[hidden] is"),
        ("source data:,Hello%20world", "source data:,[hidden]"),
        (
            "x -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY----- y",
            "x [hidden] y",
        ),
        ("cut -----BEGIN PRIVATE KEY-----\nMHcC", "cut [hidden]"),
        ("jwt eyJhbGciOiJS.eyJpc3MiOiJr.c2ln", "jwt [hidden]"),
        ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
        ("metadata: fine", "metadata: fine"),
    ],
)
def test_secrets_inside_texts_are_cut_out(text: str, shown: str) -> None:
    assert scrub(text) == shown


def test_people_get_plain_text() -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        configure("info", stream=stream, json=False)
        Logger("mco.test").warning("node is slow", node="w1")
        Logger("mco.test").debug("not shown")
    finally:
        root.handlers[:], root.level = handlers, level
    assert stream.getvalue().split(" ", 1)[1] == "warning node is slow node=w1\n"
