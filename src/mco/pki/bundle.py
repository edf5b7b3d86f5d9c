"""PEM bundles of authorities."""

from __future__ import annotations

import re

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mco.base.errors import InvalidInput

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\r?\n?", re.DOTALL)


def checked(pem: bytes, subject: str) -> bytes:
    """`pem` itself, which may be empty. Raises InvalidInput when there is something and no certificate in it,
    or one that cannot be read; `subject` names the object."""
    if not pem.strip():
        return b""
    try:
        x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        text = "the bundle holds a certificate that cannot be read, or none"
        raise InvalidInput(text, subject=subject, hint="it has to be PEM") from error
    return pem


def replaced(pem: bytes, name: str, new: bytes) -> bytes:
    """The bundle with the authorities of `new` in place of those with `name` in their subject. A block that
    cannot be read is left out."""
    if not new:
        return pem
    kept = [found for found in _readable(pem) if name not in found.subject.rfc4514_string()]
    found = dict.fromkeys(c.public_bytes(Encoding.PEM) for c in (*kept, *_readable(new)))
    return b"".join(found)


def _readable(pem: bytes) -> list[x509.Certificate]:
    certificates = []
    for block in _BLOCK.findall(pem):
        try:
            certificates.append(x509.load_pem_x509_certificate(block))
        except ValueError:
            continue
    return certificates
