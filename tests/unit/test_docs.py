"""The documents point at files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
DOCUMENTS = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md")), TOP / "examples/README.md"]
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
_CODE = re.compile(r"`((?:docs|src|tests|examples|bench|scripts)/[\w./-]*)`")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_links_resolve(document: Path) -> None:
    text = document.read_text()
    links = [document.parent / target for target in _LINK.findall(text) if "://" not in target]
    named = [TOP / target for target in _CODE.findall(text)]
    missing = [str(path) for path in (*links, *named) if not path.exists()]
    assert missing == []


def test_the_story_walks_through_every_stage() -> None:
    """From the object to the pool's status, in the order of the reading path."""
    files = re.findall(r"src/mco/([\w/]+)\.py", (TOP / "docs/story.md").read_text())
    path = [
        "api/machineconfig",
        "controllers/render",
        "render/pool",
        "controllers/node",
        "plan/pool/rollout",
        "daemon/agent",
        "plan/node/step",
        "plan/node/update",
        "daemon/perform",
        "daemon/report",
        "plan/pool/status",
    ]
    assert [file for file in files if file in path] == path
