"""Our definitions on the servers of the contract suite, in a group of their own."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.conftest import api, embedded, endpoint, prefix
from tests.contract.apiserver.definitions import define
from tests.contract.apiserver.endpoint import Api
from tests.contract.crds.kinds import BY_KIND, definition

__all__ = ["api", "embedded", "endpoint", "prefix"]


@pytest.fixture
async def defined(api: Api) -> None:
    """Our definitions are there."""
    await define_ours(api)


async def define_ours(api: Api) -> None:
    for body in BY_KIND.values():
        await define(api, definition(body))
