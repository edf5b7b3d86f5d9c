"""PEM bundles of authorities."""

from __future__ import annotations

import re

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mco.base.errors import InvalidInput

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\r?\n?", re.DOTALL)


def checked(pem: bytes, place: str) -> bytes:
    """`pem` itself, which may be empty. Raises InvalidInput when there is something and no certificate in it
    can be read; `place` says where it stands."""
    if not pem.strip():
        return b""
    if not _readable(pem):
        text = f"{place} doesn't have a valid PEM bundle"
        raise InvalidInput(text, subject=place, hint="it holds certificates, as PEM")
    return pem


def replaced(pem: bytes, name: str, new: bytes) -> bytes:
    """The bundle with the authorities of `new` in the place of those with `name` in their subject, where it
    has any. A block that cannot be read is left out."""
    if not new:
        return pem
    made = [
        certificate
        for found in _readable(pem)
        for certificate in (_readable(new) if name in found.subject.rfc4514_string() else [found])
    ]
    return b"".join(dict.fromkeys(c.public_bytes(Encoding.PEM) for c in made))


def _readable(pem: bytes) -> list[x509.Certificate]:
    certificates = []
    for block in _BLOCK.findall(pem):
        try:
            certificates.append(x509.load_pem_x509_certificate(block))
        except ValueError:
            continue
    return certificates
