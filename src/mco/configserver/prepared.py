"""Answers that are ready to send: made once per (config, version), shared by all clients.

Only the bootstrap token in the kubeconfig differs between machines. The bytes are therefore kept as what
stands before it and what stands after it, and each machine's token is put between when it is sent.
"""

from __future__ import annotations

import msgspec

from mco.configserver.kubeconfig import check_token
from mco.ignition.dataurl import encode_percent


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """One config in one version. `name` is the MachineConfig's; without a hole `after` is empty."""

    name: str
    version: str
    before: bytes
    after: bytes

    def body(self, token: str) -> tuple[bytes, bytes, bytes]:
        """The answer for the machine that holds `token`, in pieces; the large ones are never copied."""
        return self.before, escaped(token), self.after


def escaped(token: str) -> bytes:
    """`token` as it stands inside the kubeconfig's data URL; empty for none. Raises InvalidInput."""
    return encode_percent(check_token(token).encode()).removeprefix("data:,").encode() if token else b""
