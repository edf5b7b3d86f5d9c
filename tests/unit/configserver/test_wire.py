"""A response as bytes: pieces are small, nothing is lost, large parts are not copied."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mco.configserver.front import Response
from mco.configserver.wire import chunks, head


@given(st.binary(max_size=50), st.lists(st.binary(max_size=300), max_size=4), st.integers(50, 128))
def test_chunks_are_the_whole_in_order_and_none_is_too_large(
    start: bytes, body: list[bytes], size: int
) -> None:
    pieces = list(chunks(start, body, size))
    assert b"".join(pieces) == start + b"".join(body)
    assert all(0 < len(piece) <= size for piece in pieces)


def test_only_the_ends_of_a_large_part_are_copied() -> None:
    large = bytes(1_000_000)
    pieces = list(chunks(b"head", (large, b"token", large), 16_384))
    shared = sum(len(piece) for piece in pieces if isinstance(piece, memoryview))
    assert shared > 2_000_000 - 4 * 16_384
    assert all(piece.obj is large for piece in pieces if isinstance(piece, memoryview))


def test_the_head_has_what_http_wants() -> None:
    lines = head(Response(200, (("Content-Type", "application/json"),), (b"ab", b"c")), close=True).split(
        b"\r\n"
    )
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert b"Content-Length: 3" in lines
    assert b"Connection: close" in lines
    assert lines[-2:] == [b"", b""]
