"""Certificate signing requests of nodes: made, checked, signed.

A node asks for CN `system:node:<name>`, O `system:nodes`, without alternative names (design.md 10, identity).
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mco.base.errors import InvalidInput
from mco.pki.authority import LEAF_LIFETIME, Authority, subject

NODE_USER_PREFIX = "system:node:"
NODES_GROUP = "system:nodes"
NODE_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
MINIMUM_LIFETIME = timedelta(minutes=10)


class Request(msgspec.Struct, frozen=True):
    """What a signing request asks for: a user, groups, and alternative names as text."""

    user: str
    groups: tuple[str, ...]
    names: tuple[str, ...]
    key: ec.EllipticCurvePublicKey


def create(key: ec.EllipticCurvePrivateKey, user: str, groups: tuple[str, ...] = ()) -> bytes:
    """PEM of a signing request for a client certificate."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject(user, groups))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def create_for_node(key: ec.EllipticCurvePrivateKey, node: str) -> bytes:
    """PEM of the request of the node called `node`."""
    return create(key, NODE_USER_PREFIX + node, (NODES_GROUP,))


def parse(pem: bytes) -> Request:
    """Raises InvalidInput for anything but one well-formed, self-signed request over a P-256 key."""
    try:
        request = x509.load_pem_x509_csr(pem)
        key = request.public_key()
        signed = request.is_signature_valid
        names = _alternative_names(request)
    except (ValueError, InvalidSignature) as error:
        raise InvalidInput("the certificate signing request cannot be parsed") from error
    if not signed:
        raise InvalidInput("the certificate signing request is not signed by its own key")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise InvalidInput("the certificate signing request's key is not a P-256 key")
    users = [str(a.value) for a in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if len(users) != 1:
        raise InvalidInput("the certificate signing request needs exactly one common name")
    groups = request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return Request(users[0], tuple(str(a.value) for a in groups), names, key)


def node_of(request: Request) -> str:
    """The node that a request speaks for. Raises InvalidInput when it asks for more than a node may have."""
    node = request.user.removeprefix(NODE_USER_PREFIX)
    if not request.user.startswith(NODE_USER_PREFIX) or not node:
        raise InvalidInput(f'the common name "{request.user}" does not name a node')
    if request.groups != (NODES_GROUP,):
        raise InvalidInput(f"the organization must be exactly {NODES_GROUP}")
    if request.names:
        raise InvalidInput("a node's client certificate may not have alternative names")
    return node


def sign_node_csr(
    authority: Authority, pem: bytes, now: datetime, lifetime: timedelta = LEAF_LIFETIME
) -> bytes:
    """The certificate (PEM) that a node's request asks for. Raises InvalidInput as `parse` and `node_of`.

    A shorter lifetime than ten minutes is raised to that: a certificate must outlive its own delivery."""
    request = parse(pem)
    node_of(request)
    name = subject(request.user, request.groups)
    return authority.client_certificate(name, request.key, now, max(lifetime, MINIMUM_LIFETIME))


def _alternative_names(request: x509.CertificateSigningRequest) -> tuple[str, ...]:
    try:
        extension = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in extension.value)
