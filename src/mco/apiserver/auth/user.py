"""Who asks."""

from __future__ import annotations

import msgspec

ANONYMOUS = "system:anonymous"
UNAUTHENTICATED = "system:unauthenticated"
AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


class User(msgspec.Struct, frozen=True):
    """A name and groups; `token_id` is set for whoever came with a bootstrap token; `extra` is what else
    is known, by names."""

    name: str
    groups: frozenset[str] = frozenset()
    token_id: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def anonymous(self) -> bool:
        return self.name == ANONYMOUS


NOBODY = User(ANONYMOUS, frozenset({UNAUTHENTICATED}))


def authenticated(name: str, groups: frozenset[str] | tuple[str, ...], token_id: str = "") -> User:
    return User(name, frozenset(groups) | {AUTHENTICATED}, token_id)


def account(namespace: str, name: str) -> User:
    """A service account."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return authenticated(f"system:serviceaccount:{namespace}:{name}", groups)
