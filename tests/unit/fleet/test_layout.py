"""Names and pools of an instance's machines."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mco.base.errors import Conflict, InvalidInput, NotFound
from mco.fleet import running
from mco.fleet.instance import Instance
from mco.fleet.up import layout


@pytest.mark.parametrize(
    ("count", "known", "edge", "expected"),
    [
        (0, [], False, {}),
        (2, [], False, {"worker-1": "worker", "worker-2": "worker"}),
        (3, [], True, {"worker-1": "worker", "worker-2": "worker", "edge-1": "edge"}),
        (1, [], True, {"worker-1": "worker"}),
        (1, ["worker-1", "worker-2"], False, {"worker-1": "worker", "worker-2": "worker"}),
        (3, ["edge-1"], False, {"worker-1": "worker", "worker-2": "worker", "edge-1": "edge"}),
    ],
)
def test_layout(count: int, known: list[str], edge: bool, expected: dict[str, str]) -> None:
    assert layout(count, known, edge=edge) == expected


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a" * 40, "../x"])
def test_an_instance_name_that_cannot_be_a_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a valid instance name"):
        Instance(name, tmp_path / "x")


def test_ports_are_kept(tmp_path: Path) -> None:
    """A machine knows the server by its port: the next start must have the same."""
    first = Instance("a", tmp_path / "a").ports("127.0.0.1")
    assert Instance("a", tmp_path / "a").ports("127.0.0.1") == first
    assert first.api != first.config


def test_a_port_for_metrics_is_only_kept_while_it_is_free(tmp_path: Path) -> None:
    first = Instance("a", tmp_path / "a").ports("127.0.0.1")
    with socket.create_server(("127.0.0.1", first.controller_metrics)):
        second = Instance("a", tmp_path / "a").ports("127.0.0.1")
    assert (second.api, second.config) == (first.api, first.config)
    assert first.controller_metrics not in (second.controller_metrics, second.configserver_metrics)
    assert Instance("a", tmp_path / "a").ports("127.0.0.1") == second


def test_one_instance_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with running.hold("a", tmp_path / "a"):
        held = running.holder("a")
        assert held is not None
        assert held.folder == str(tmp_path / "a")
        with pytest.raises(Conflict, match='instance "a" runs already, as process'):
            running.hold("a", tmp_path / "a")
        with running.hold("b", tmp_path / "b"):
            pass
    assert running.holder("a") is None
    with pytest.raises(NotFound, match='instance "a" does not run'):
        running.kubeconfig("a")
