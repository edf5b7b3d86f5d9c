"""The checked-in manifests are what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mco.api.yaml import load_all
from mco.payload.generate import FOLDER, HEADING, documents, stray, text, write

DOCUMENTS = documents()


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_file_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == text(DOCUMENTS[name]), "run `make generate`"


def test_nothing_is_left_over() -> None:
    assert stray(FOLDER) == []


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_yaml_readers_agree(name: str) -> None:
    """Ours, which reads as Go does, and PyYAML: nothing turns into a boolean, a number or a date."""
    raw = (FOLDER / name).read_bytes()
    assert load_all(raw, name) == [DOCUMENTS[name]] == [yaml.safe_load(raw)]


def test_a_file_that_nothing_generates_any_more_goes(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    old, foreign = tmp_path / "manifests/old.yaml", tmp_path / "manifests/foreign.yaml"
    old.write_text(HEADING)
    foreign.write_text("kind: ConfigMap\n")
    write(tmp_path)
    assert not old.exists() and foreign.exists()
    assert stray(tmp_path) == []
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.glob("*/*")} == {
        "manifests/Kustomization",
        "manifests/foreign.yaml",
        *DOCUMENTS,
    }
