"""Log lines: one JSON object each on stderr, or plain text when stderr is a terminal.

A line is a constant sentence plus fields: `log.info("pool rendered", pool="worker", seconds=0.2)`. Fields
that hold for a whole piece of work are bound once: `with bound(node="w1"): ...` adds them to every line below
it, also in the tasks started there.

Secrets never reach a line. Fields named like one are replaced, and so are bearer tokens, private keys and
data URLs (which carry file contents) wherever they occur, also inside error texts.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

_FIELDS: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar("fields", default={})  # noqa: B039
_ATTRIBUTE = "mco_fields"
_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(
    r"(^|[_-])(token|password|passwd|secret|authorization|credentials?|private[_-]?key|key[_-]?data|contents?)"
    r"([_-]|$)",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"(?P<bearer>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{6,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?P<url>\bdata:[A-Za-z0-9.+/;=-]{0,100},)[^\s\"']+"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    re.DOTALL,
)


class Logger:
    """Writes through the standard library's logger of the same name."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, message: str, /, **fields: Any) -> None:
        self._write(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        self._write(logging.ERROR, message, fields)

    def exception(self, message: str, error: BaseException, /, **fields: Any) -> None:
        """An error that nobody expected, with its traceback."""
        self._write(logging.ERROR, message, fields, error)

    def _write(
        self, level: int, message: str, fields: dict[str, Any], error: BaseException | None = None
    ) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", message, exc_info=error, extra={_ATTRIBUTE: fields})


@contextlib.contextmanager
def bound(**fields: Any) -> Iterator[None]:
    """Add `fields` to every line written inside."""
    token = _FIELDS.set({**_FIELDS.get(), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def configure(level: str = "info", *, stream: TextIO | None = None, json: bool | None = None) -> None:
    """Send every line to `stream` (stderr), as JSON unless it is a terminal. Calling it again replaces the
    former."""
    target = stream or sys.stderr
    plain = target.isatty() if json is None else not json
    handler = logging.StreamHandler(target)
    handler.setFormatter(PlainFormatter() if plain else JSONFormatter())
    handler.addFilter(_bind)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


CHATTY = 4
"""klog's verbosity from which on it is debugging."""


def verbose(count: int) -> None:
    """As klog counts, for the program's own loggers: everything, or what `configure` chose."""
    logging.getLogger("mco").setLevel(logging.DEBUG if count >= CHATTY else logging.NOTSET)


def scrub(text: str) -> str:
    """`text` without tokens, private keys and file contents."""
    return _SECRET_TEXT.sub(lambda match: (match["bearer"] or match["url"] or "") + _HIDDEN, text)


class JSONFormatter(logging.Formatter):
    """`{"time", "level", "logger", "message", ...fields, "traceback"}`; a field never hides one of the first
    four."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": scrub(record.getMessage()),
        }
        for name, value in _fields(record).items():
            line.setdefault(name, value)
        if record.exc_info:
            line["traceback"] = scrub(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


class PlainFormatter(logging.Formatter):
    """`17:22:17 warning message key=value`, for people."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        words = [time, f"{record.levelname.lower():7}", scrub(record.getMessage())]
        words += [f"{name}={value}" for name, value in _fields(record).items()]
        if record.exc_info:
            words.append("\n" + scrub(self.formatException(record.exc_info)))
        return " ".join(words)


def _bind(record: logging.LogRecord) -> bool:
    setattr(record, _ATTRIBUTE, {**_FIELDS.get(), **getattr(record, _ATTRIBUTE, {})})
    return True


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, _ATTRIBUTE, {})
    return {name: _safe(name, value) for name, value in fields.items()}


def _safe(name: str, value: Any) -> Any:
    if _SECRET_NAME.search(name):
        return _HIDDEN
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _safe(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_safe("", item) for item in value]
    return scrub(str(value))
