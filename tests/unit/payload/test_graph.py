"""The order of a payload: the cases of spec/operator.md 8.13, and what follows for the hand-over (0.2)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.payload.graph import Graph, Layer, Mode, build, by_level, flattened, rotated, shuffled, split_on_jobs
from mco.payload.manifest import Manifest


def manifest(file: str, kind: str = "ConfigMap", api: str = "v1") -> Manifest:
    return Manifest(file, 1, {"apiVersion": api, "kind": kind, "metadata": {"name": file}})


def job(file: str) -> Manifest:
    return manifest(file, "Job", "batch/v1")


def manifests(*files: str) -> list[Manifest]:
    return [job(file) if file.startswith("job") else manifest(file) for file in files]


def files(layers: list[Layer]) -> list[list[list[str]]]:
    return [[[found.file for found in group] for group in layer] for layer in layers]


def drawn(graph: Graph) -> list[tuple[list[str], tuple[int, ...]]]:
    return [([found.file for found in node.manifests], node.after) for node in graph]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ([], []),
        (["a", "b"], [["a", "b"]]),
        (["a", "job1"], [["a"], ["job1"]]),
        (["job1", "a"], [["job1"], ["a"]]),
        (["a", "job1", "b"], [["a"], ["job1"], ["b"]]),
        (["a", "job1", "b", "job2", "c"], [["a"], ["job1"], ["b"], ["job2"], ["c"]]),
        (["job1", "a", "job2"], [["job1"], ["a"], ["job2"]]),
        (["job1", "job2"], [["job1"], ["job2"]]),
    ],
)
def test_a_job_stands_alone(given: list[str], parts: list[list[str]]) -> None:
    assert [[found.file for found in part] for part in split_on_jobs(manifests(*given))] == parts


A, B = "0000_01_a-b-c_file", "0000_01_x-y-z_file"


@pytest.mark.parametrize(
    ("given", "layers"),
    [
        ([], []),
        (["a"], [[["a"]]]),
        ([A], [[[A]]]),
        (["a", "b"], [[["a", "b"]]]),
        (["0000_01_x-y-z_file1", "0000_01_x-y-z_file2"], [[["0000_01_x-y-z_file1", "0000_01_x-y-z_file2"]]]),
        (["a", B, "c"], [[["a", B, "c"]]]),
        ([A, B], [[[A], [B]]]),
        ([A, B, "a", "b"], [[[A], [B]], [["a", "b"]]]),
        (["0000_01_a_1", "0000_02_b_1"], [[["0000_01_a_1", "0000_02_b_1"]]]),
    ],
)
def test_levels_and_components(given: list[str], layers: Any) -> None:
    assert files(by_level(manifests(*given))) == layers


@pytest.mark.parametrize(
    ("given", "layers"),
    [
        ([], []),
        (["a", "b"], [[["a"], ["b"]]]),
        (["0000_01_x-y-z_1", "0000_01_x-y-z_2"], [[["0000_01_x-y-z_1", "0000_01_x-y-z_2"]]]),
        (["a", A, B, "c"], [[["a"], [A], [B], ["c"]]]),
        (["0000_01_a_1", "0000_02_a_1"], [[["0000_01_a_1"], ["0000_02_a_1"]]]),
    ],
)
def test_flattened(given: list[str], layers: Any) -> None:
    assert files(flattened(manifests(*given))) == layers


WHOLE = [
    *("0000_07_a_1", "0000_07_a_2", "0000_08_b_1"),
    *("0000_09_a_1", "0000_09_a_2", "0000_09_b_1"),
    *("0000_10_c_1", "0000_11_d_1"),
]


def test_the_whole_graph_while_updating() -> None:
    assert drawn(build(manifests(*WHOLE), Mode.UPDATING)) == [
        (["0000_07_a_1", "0000_07_a_2", "0000_08_b_1"], ()),
        (["0000_09_a_1", "0000_09_a_2"], (0,)),
        (["0000_09_b_1"], (0,)),
        (["0000_10_c_1", "0000_11_d_1"], (1, 2)),
    ]


def test_a_job_is_a_barrier() -> None:
    assert drawn(build(manifests("job1", A, B, "job2"), Mode.UPDATING)) == [
        (["job1"], ()),
        ([A], (0,)),
        ([B], (0,)),
        (["job2"], (1, 2)),
    ]


def test_two_wide_levels_follow_each_other() -> None:
    given = ["0000_01_a_1", "0000_01_b_1", "0000_02_a_1", "0000_02_b_1"]
    assert [after for _, after in drawn(build(manifests(*given), Mode.UPDATING))] == [(), (), (0, 1), (0, 1)]


def test_initializing_drops_the_levels() -> None:
    graph = build(manifests(*WHOLE), Mode.INITIALIZING)
    assert all(not node.after for node in graph)
    assert len(graph) == 6


@pytest.mark.parametrize(
    ("step", "given", "expected"),
    [(0, "ab", "ab"), (1, "ab", "ba"), (2, "ab", "ab"), (1, "abc", "bca"), (2, "abc", "cab"), (3, "", "")],
)
def test_another_start_for_every_step(step: int, given: str, expected: str) -> None:
    layer: Layer = [(manifest(name),) for name in given]
    assert "".join(group[0].file for group in rotated(layer, step)) == expected


def test_reconciling_begins_everywhere_in_time_and_loses_nothing() -> None:
    given = manifests(*(f"f{number}" for number in range(8)))
    starts = set()
    for attempt in range(16):
        graph = build(given, Mode.RECONCILING, attempt)
        assert sorted(found.file for node in graph for found in node.manifests) == [m.file for m in given]
        starts.add(graph[0].manifests[0].file)
    assert starts == {m.file for m in given}
    assert shuffled(flattened(given)[0], 5) == shuffled(flattened(given)[0], 5)
