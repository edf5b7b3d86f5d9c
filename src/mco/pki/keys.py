"""Private keys: P-256, PKCS#8 PEM, written 0600."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mco.base.errors import InvalidInput


def generate() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def to_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def from_pem(pem: bytes, source: str) -> ec.EllipticCurvePrivateKey:
    """Raises InvalidInput naming `source` when it holds no unencrypted elliptic-curve key."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise InvalidInput("the file holds no readable private key", path=source) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InvalidInput("the private key is not an elliptic-curve key", path=source)
    return key
