"""Our definitions on the servers of the contract suite, in a group of their own."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.conftest import api, embedded, endpoint, prefix
from tests.contract.apiserver.definitions import CRDS, define
from tests.contract.apiserver.endpoint import Api, Endpoint
from tests.contract.crds.cases import ALL_DEFINITIONS
from tests.contract.crds.kinds import definition

__all__ = ["api", "embedded", "endpoint", "prefix"]

_ready: dict[Endpoint, bool] = {}


@pytest.fixture
async def evaluates_rules(endpoint: Endpoint, api: Api) -> bool:
    """Whether the server evaluates CEL rules; our definitions are there, with rules if it does."""
    if endpoint not in _ready:
        probe = definition(ALL_DEFINITIONS[-1], rules=True)
        _ready[endpoint] = rules = (await api.post(CRDS, probe, dryRun="All")).status == 201
        for body in ALL_DEFINITIONS:
            await define(api, definition(body, rules=rules))
    return _ready[endpoint]
