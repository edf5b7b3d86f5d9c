"""The definitions of our kinds, case by case: what is accepted, what is refused with which text and where."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.contract.apiserver.endpoint import Api, Endpoint
from tests.contract.crds import (
    bootimagecases,
    boundcases,
    buildcases,
    controllercases,
    imagecases,
    nodecases,
    operatorcases,
    osconfigcases,
    platformboundcases,
    platformcases,
    poolcases,
    runtimecases,
    transitioncases,
)
from tests.contract.crds.cases import Case
from tests.contract.crds.conftest import define_ours
from tests.contract.crds.kinds import walk, walk_stale

CASES: tuple[Case, ...] = (
    *poolcases.CONFIGS,
    *poolcases.POOLS,
    *controllercases.CONTROLLERS,
    *platformcases.PLATFORMS,
    *nodecases.NODES,
    *imagecases.SETS,
    *imagecases.STREAMS,
    *imagecases.RELEASES,
    *osconfigcases.CONFIGS,
    *buildcases.BUILDS,
    *runtimecases.KUBELETS,
    *runtimecases.RUNTIMES,
    *operatorcases.CONFIGURATIONS,
    *bootimagecases.BOOT_CASES,
    *boundcases.BOUNDS,
    *platformboundcases.PLATFORM_BOUNDS,
    *transitioncases.TRANSITIONS,
)


def test_cases_have_names_of_their_own() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(endpoint: Endpoint) -> AsyncIterator[Api]:
    """One connection for all cases: each costs more than a case."""
    async with endpoint.api() as api:
        await define_ours(api)
        yield api


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
async def test_case(api: Api, prefix: str, case: Case) -> None:
    if case.stale:
        await walk_stale(api, case, f"{prefix}.example.com")
    else:
        await walk(api, case, case.steps)
