"""The definitions of our kinds, case by case: what is accepted, what is refused with which text and where."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.endpoint import Api
from tests.contract.crds import (
    bootimagecases,
    buildcases,
    controllercases,
    imagecases,
    nodecases,
    operatorcases,
    osconfigcases,
    platformcases,
    poolcases,
    runtimecases,
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
)


def test_cases_have_names_of_their_own() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
async def test_case(api: Api, evaluates_rules: bool, prefix: str, case: Case) -> None:
    if case.needs_rules and not evaluates_rules:
        pytest.skip("the server evaluates no CEL rules")
    if case.stale:
        await walk_stale(api, case, f"{prefix}.example.com", rules=evaluates_rules)
    else:
        await walk(api, case, case.steps)
