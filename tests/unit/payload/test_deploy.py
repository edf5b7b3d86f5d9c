"""`deploy/` is the same payload: up to date, complete, and what the tools make of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mco.payload.generate import DEPLOY, FOLDER, stray_deploy, text, write_deploy
from mco.payload.image import NAME as IMAGE
from mco.payload.source import deploy

ROOT = DEPLOY.parent
CHART = DEPLOY / "helm/mco"
PORTABLE = deploy.portable()
TEXTS = deploy.texts(text)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_file_is_up_to_date(name: str) -> None:
    assert (DEPLOY / name).read_text() == TEXTS[name], "run `make generate`"


def test_nothing_is_left_over_and_links_lead_to_definitions() -> None:
    assert stray_deploy(DEPLOY) == []
    for name in deploy.links():
        assert yaml.safe_load((DEPLOY / name).read_text())["kind"] == "CustomResourceDefinition"


def test_what_is_written_is_the_same_anywhere(tmp_path: Path) -> None:
    old = tmp_path / "helm/mco/templates/old.yaml"
    old.parent.mkdir(parents=True)
    old.write_text("kind: ConfigMap\n")
    write_deploy(tmp_path)
    assert not old.exists() and stray_deploy(tmp_path) == []


def same(objects: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in objects)


def test_kustomize_gives_the_portable_manifests() -> None:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl")
    built = subprocess.run(
        [program, "kustomize", str(DEPLOY / "kustomize")], capture_output=True, text=True, check=True
    )
    assert same(list(yaml.safe_load_all(built.stdout))) == same([dict(b) for b in PORTABLE.values()])


def test_the_chart_gives_the_portable_manifests() -> None:
    """The one thing that its templates do is to put in the image."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values == {"image": IMAGE}
    found = []
    for path in sorted((CHART / "templates").iterdir()):
        template = path.read_text()
        assert set(re.findall(r"\{\{.*?\}\}|\{%|\}\}", template)) <= {"{{ .Values.image }}"}
        found.append(yaml.safe_load(template.replace("{{ .Values.image }}", values["image"])))
    found += [yaml.safe_load(path.read_text()) for path in (CHART / "crds").iterdir()]
    assert same(found) == same([dict(body) for body in PORTABLE.values()])


def test_nothing_that_only_an_applier_understands_is_in_it() -> None:
    kinds = {body["kind"] for body in PORTABLE.values()}
    assert "ClusterOperator" not in kinds and {"Namespace", "Deployment", "ClusterRole"} <= kinds
    listed = yaml.safe_load((FOLDER / "manifests/Kustomization").read_text())["resources"]
    assert listed == list(PORTABLE)


def test_the_containerfile_names_no_registry() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    assert "ARG BASE" in lines
    assert {line for line in lines if line.startswith("FROM")} == {"FROM ${BASE} AS build", "FROM ${BASE}"}
    for line in lines:
        if line.startswith("COPY") and "--from" not in line:
            assert all((ROOT / source).exists() for source in line.split()[1:-1])
