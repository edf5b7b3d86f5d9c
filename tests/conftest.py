"""What tests of several folders share: the real API server, one for all of a run, and the embedded one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from mco.apiserver.server import Settings, running
from mco.kube.client import Client
from mco.kube.config import load
from tests.servers.assets import find, version
from tests.servers.real import RealServer, real_server

# How long an example takes says more about the machine than about the code. Who has the time looks further:
# `pytest tests/property --hypothesis-profile=thorough`.
settings.register_profile("quick", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("quick")


_BYTE_CODE = Path(__file__).parents[1] / "build/bytecode"


def pytest_configure(config: pytest.Config) -> None:
    _allow_byte_code()
    # Asked to end, the run ends the servers that it started, as it does on Ctrl+C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "only(server): a test of what just the embedded, or real, server does")
    config.addinivalue_line("markers", "since(version): a test of what older real servers do not do")
    config.addinivalue_line("markers", "differs(server, reason): a known difference, which must exist")


def _allow_byte_code() -> None:
    """Who forbids it, as images of containers do, wants none beside the sources. But hundreds of processes
    here would compile the whole program, each for itself."""
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(_BYTE_CODE)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Applies the markers to the tests that run against both servers."""
    left_out = {item for item in items if _is_for_the_other(item) or _is_too_young(item)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        mark = item.get_closest_marker("differs")
        if mark is not None and mark.args[0] == _server(item):
            item.add_marker(pytest.mark.xfail(strict=True, reason=mark.args[1]))


@pytest.fixture(scope="session")
def real_apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A kube-apiserver with etcd; skipped, or failed, where there is none."""
    with real_server(find(), tmp_path_factory.mktemp("real")) as server:
        yield server


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Client]:
    """An administrator's client on an embedded API server of its own."""
    async with (
        running(Settings(data_dir=tmp_path / "api")) as server,
        Client(load(server.kubeconfig)) as client,
    ):
        yield client


def _server(item: pytest.Item) -> str:
    call = getattr(item, "callspec", None)
    return str(call.params.get("endpoint", "")) if call is not None else ""


def _is_for_the_other(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("only")
    return mark is not None and _server(item) not in ("", mark.args[0])


def _is_too_young(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("since")
    return mark is not None and _server(item) == "real" and _numbers(version()) < _numbers(mark.args[0])


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]
