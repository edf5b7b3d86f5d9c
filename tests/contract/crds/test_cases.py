"""The definitions of our kinds, case by case: what is accepted, what is refused with which text and where."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.endpoint import Api
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


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
@pytest.mark.usefixtures("defined")
async def test_case(api: Api, prefix: str, case: Case) -> None:
    if case.stale:
        await walk_stale(api, case, f"{prefix}.example.com")
    else:
        await walk(api, case, case.steps)
