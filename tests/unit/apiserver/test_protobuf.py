"""Bodies in protocol buffers, as `kubectl create` writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.apiserver.http import protobuf
from mco.base.errors import InvalidInput

# kubectl create configmap foo --from-literal=a=b -n default
CONFIG_MAP = bytes.fromhex(
    "6b38730000".removesuffix("00")
    + "0a0f0a02763112"
    + "09436f6e6669674d6170"
    + "1224"
    + "0a1a0a03666f6f12001a0764656661756c7422002a0032003800420012060a0161120162"
    + "1a002200"
)


def test_a_config_map() -> None:
    assert protobuf.decode(CONFIG_MAP) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "foo", "namespace": "default"},
        "data": {"a": "b"},
    }


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def _number(number: int, value: int) -> bytes:
    encoded = bytearray([number << 3])
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded) + bytes([value])


def _envelope(version: str, kind: str, raw: bytes) -> bytes:
    meta = _field(1, version.encode()) + _field(2, kind.encode())
    return b"k8s\0" + _field(1, meta) + _field(2, raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [(_number(2, 3), 3), (b"", 0), (_number(1, 1) + _field(3, b"50%"), "50%"), (_number(1, 1), "")],
)
def test_a_number_or_a_text(raw: bytes, value: int | str) -> None:
    labels = _field(1, _field(1, b"app") + _field(2, b"a"))
    requirement = _field(2, _field(1, b"b") + _field(2, b"In") + _field(3, b"c") + _field(3, b""))
    spec = _field(1, raw) + _field(2, labels + requirement) + _field(4, b"AlwaysAllow")
    body = protobuf.decode(_envelope("policy/v1", "PodDisruptionBudget", _field(2, spec)))
    assert body is not None
    assert body["spec"] == {
        "minAvailable": value,
        "selector": {
            "matchLabels": {"app": "a"},
            "matchExpressions": [{"key": "b", "operator": "In", "values": ["c", ""]}],
        },
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }


def test_bytes_times_numbers_and_lists() -> None:
    spec = _field(1, b"csr") + _field(5, b"client auth") + _field(5, b"digital signature") + _number(8, 3600)
    created = _number(1, 1767225600)
    metadata = _field(1, b"x") + _field(8, created) + _number(10, 0)
    body = _envelope(
        "certificates.k8s.io/v1", "CertificateSigningRequest", _field(1, metadata) + _field(2, spec)
    )
    assert protobuf.decode(body) == {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {
            "name": "x",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 0,
        },
        "spec": {
            "request": "Y3Ny",
            "usages": ["client auth", "digital signature"],
            "expirationSeconds": 3600,
        },
    }


def test_a_kind_without_a_table_is_not_decoded() -> None:
    assert protobuf.decode(_envelope("v1", "Pod", b"")) is None


@pytest.mark.parametrize("body", [b"", b"{}", b"k8s\0\x0a\xff", CONFIG_MAP[:-3], b"k8s\0" + b"\xff" * 20])
def test_junk_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="no Kubernetes protocol buffer"):
        protobuf.decode(body)


@given(st.binary(max_size=60), st.sampled_from(sorted(protobuf.KINDS)))
def test_any_bytes_are_decoded_or_refused(raw: bytes, kind: tuple[str, str]) -> None:
    try:
        protobuf.decode(_envelope(*kind, raw))
    except InvalidInput:
        return
