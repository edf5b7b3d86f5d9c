"""`data:` URLs (RFC 2397) as the original's library reads and writes them.

Stricter than browsers: media types must be of the families below, parameters of token characters, the data
of URL characters, base64 padded. What it refuses is refused here, with its texts, because validation prints
them.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
import urllib.parse
import zlib

from mco.base.errors import InvalidInput

PREFIX = "data:"
DEFAULT_LIMIT = 64 * 1024 * 1024
"""Bytes that decoding may produce: larger than any config that the API accepts, small beside a gzip bomb."""

_TOKEN = r"[!#$%&'*+\-.^_`{|}~0-9A-Za-z]"
_FAMILY = r"(?:[xX]-|(?:text|image|audio|video|application|message|multipart))"
_QUOTED = r'"(?:[^"\\\n\x80-\U0010ffff]|\\[abfnrtv\\"])*"'
_HEAD = re.compile(
    rf"data:(?:{_FAMILY}{_TOKEN}*/{_TOKEN}*)?(?P<parameters>(?:;{_TOKEN}+=(?:{_TOKEN}+|{_QUOTED}))*)(?P<base64>;base64)?,"
)
_TEXT = re.compile(r"[!$-;=?-Z_a-z~]*")  # what may stand unescaped in a URL, and %
_BASE64 = re.compile(r"[0-9A-Za-z+/=\n]*")
_BASE64_DIGITS = string.ascii_letters.encode() + b"0123456789+/"
_ESCAPE = re.compile(r"%(?P<digits>[0-9A-Fa-f]{2})?")
_SAFE = "!'()*-._~"


class DataURLError(InvalidInput):
    """The text is not a data URL, or what it carries cannot be decompressed."""


def decode(source: str, compression: str | None = None, limit: int = DEFAULT_LIMIT) -> bytes:
    """The bytes that `source` carries, decompressed when `compression` is `gzip`.

    Raises DataURLError, also when the result would be longer than `limit` bytes.
    """
    data = _payload(source)
    if compression == "gzip":
        return gunzip(data, limit)
    if compression:
        raise DataURLError(f'unsupported compression type "{compression}"')
    if len(data) > limit:
        raise DataURLError(f"the data is longer than {limit} bytes")
    return data


def check(source: str) -> None:
    """Raises DataURLError unless `source` can be decoded; compression is not looked at."""
    if not is_plain_base64(source):
        _payload(source)


def is_plain_base64(source: str) -> bool:
    """Whether it is a valid base64 data URL of the usual form, found out without decoding it."""
    head = _HEAD.match(source)
    if head is None or not head["base64"] or "%" in head.group() or '"' in head.group():
        return False
    if not source.isascii():
        return False
    data = source[head.end() :].encode()
    digits = data.rstrip(b"=")
    return len(data) % 4 == 0 and len(data) - len(digits) <= 2 and not digits.translate(None, _BASE64_DIGITS)


def gunzip(data: bytes, limit: int = DEFAULT_LIMIT) -> bytes:
    """Decompresses all members of a gzip stream, never holding more than `limit` bytes of output."""
    output = bytearray()
    while data:
        stream = zlib.decompressobj(wbits=31)
        try:
            output += stream.decompress(data, limit - len(output) + 1)
        except zlib.error as error:
            raise DataURLError(f"failed decompressing: {error}") from error
        if len(output) > limit:
            raise DataURLError(f"the decompressed data is longer than {limit} bytes")
        if not stream.eof:
            raise DataURLError("failed decompressing: unexpected EOF")
        data = stream.unused_data
    return bytes(output)


def encode_percent(data: bytes) -> str:
    """`data:,` and the bytes with everything escaped that is not a letter, a digit or one of `!'()*-._~`."""
    return f"{PREFIX},{urllib.parse.quote(data, safe=_SAFE)}"


def encode_base64(data: bytes, media_type: str = "text/plain;charset=utf-8") -> str:
    """`data:<media type>;base64,` and the bytes in base64."""
    return f"{PREFIX}{media_type};base64,{base64.b64encode(data).decode()}"


def _payload(source: str) -> bytes:
    head = _HEAD.match(source)
    if head is None:
        raise DataURLError(_head_error(source))
    _check_parameters(head["parameters"])
    data = source[head.end() :]
    if head["base64"]:
        return _from_base64(data)
    return _from_percent(data)


def _from_base64(data: str) -> bytes:
    if _BASE64.fullmatch(data) is None:
        raise DataURLError("invalid data character")
    try:
        return _strict(data.replace("\n", ""))
    except ValueError as error:
        raise DataURLError(f"illegal base64 data at input byte {_bad_quantum(data)}") from error


def _strict(data: str) -> bytes:
    """Raises ValueError for anything but whole, padded groups (the library lets `aaaa=` pass)."""
    if len(data) % 4:
        raise ValueError("incomplete group")
    return binascii.a2b_base64(data, strict_mode=True)


def _bad_quantum(data: str) -> int:
    """Where the original stops: groups of four characters, `=` only at the end, line breaks skipped."""
    place = 0
    for index, char in enumerate(data):
        if char == "\n":
            continue
        if char == "=":
            rest = data[index + 1 :]
            if place < 2:
                return index
            if place == 2:
                following = rest.lstrip("\n")
                if not following:
                    return len(data)
                if following[0] != "=":
                    return len(data) - len(following) - 1
                rest = following[1:]
            return len(data) - len(rest.lstrip("\n"))
        place = (place + 1) % 4
    return len(data) - place


def _from_percent(data: str) -> bytes:
    if _TEXT.fullmatch(data) is None:
        raise DataURLError("invalid data character")
    _check_escapes(data)
    return urllib.parse.unquote_to_bytes(data)


def _check_parameters(parameters: str) -> None:
    if "%" in parameters and '"' not in parameters:
        for parameter in parameters.split(";")[1:]:
            _check_escapes(parameter.partition("=")[2])


def _check_escapes(text: str) -> None:
    for escape in _ESCAPE.finditer(text):
        if escape["digits"] is None:
            if len(text) - escape.start() < 3:
                raise DataURLError("rfc2396: unexpected end of unescape sequence")
            raise DataURLError("rfc2396: invalid char 0x25 in unescape sequence")


def _head_error(source: str) -> str:
    """The original's text for what is wrong before the comma."""
    if not source.startswith(PREFIX):
        return "missing data prefix"
    position = len(PREFIX)
    if source[position : position + 1] not in (";", ","):
        slash = re.compile(rf"{_TOKEN}*/").match(source, position)
        if slash is None or slash.end() - position == 1:
            return _media_error(source, position)
        if re.compile(_FAMILY).match(source, position) is None:
            return "invalid media type"
        subtype = re.compile(rf"{_TOKEN}*").match(source, slash.end())
        position = subtype.end() if subtype else slash.end()
        if position == len(source):
            return "incomplete media type"
        if source[position] not in ";,":
            return "invalid character for media subtype"
    return _parameter_error(source, position)


def _media_error(source: str, position: int) -> str:
    if position == len(source):
        return "missing comma before data"
    if re.match(_TOKEN, source[position]) is None:
        return "invalid character after data prefix"
    if re.fullmatch(rf"{_TOKEN}+", source[position:]):
        return "missing media type slash"
    return "invalid character for media type"


def _parameter_error(source: str, position: int) -> str:
    parameter = re.compile(rf";{_TOKEN}+=(?:{_TOKEN}+|{_QUOTED})")
    while (match := parameter.match(source, position)) is not None:
        position = match.end()
    rest = source[position:]
    if not rest.startswith(";"):
        return _after_value_error(source, position) if rest else "missing comma before data"
    attribute = re.compile(rf"{_TOKEN}*").match(rest, 1)
    name = attribute.group() if attribute else ""
    following = rest[1 + len(name) :]
    if not following or (not name and following[0] in "=,"):
        return "unterminated parameter sequence"
    if following[0] == ",":
        return f"expected base64, got {name}"
    if following[0] != "=":
        return "invalid character for parameter attribute"
    return _value_error(following[1:])


def _after_value_error(source: str, position: int) -> str:
    if source[position - 1] == '"':
        return "expected semicolon or comma"
    return "invalid character for parameter value"


def _value_error(rest: str) -> str:
    if not rest:
        return "missing comma before data"
    if rest.startswith('"') and rest.isascii():
        return "invalid syntax" if '"' in rest[1:] else "unclosed quoted string"
    return "invalid character for parameter value"
