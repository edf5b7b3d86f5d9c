"""spec/operator.md 1.16: the images of a release."""

from __future__ import annotations

from typing import Any

import pytest

from mco.base.errors import InvalidInput
from mco.plan.installation.images import IMAGES, for_nodes, referenced

TAGS = [image.tag for image in IMAGES]


def stream(*tags: str, kind: str = "DockerImage") -> dict[str, Any]:
    listed = [{"name": tag, "from": {"kind": kind, "name": f"example/{tag}"}} for tag in tags]
    return {"kind": "ImageStream", "spec": {"tags": listed}}


def test_all_that_a_release_names() -> None:
    release = referenced(stream(*TAGS, "fedora-coreos", "fedora-coreos-extensions", "more"), "references")
    assert release.images == {image.name: f"example/{image.tag}" for image in IMAGES}
    assert release.base_os == "example/fedora-coreos"
    assert release.base_os_extensions == "example/fedora-coreos-extensions"
    assert release.warnings == ()


@pytest.mark.parametrize("tag", TAGS)
def test_one_is_missing(tag: str) -> None:
    others = [each for each in TAGS if each != tag]
    with pytest.raises(InvalidInput, match=f"Failed to find {tag} in image references") as caught:
        referenced(stream(*others), "references")
    assert caught.value.path == "references"


def test_a_tag_of_another_kind_names_no_image() -> None:
    with pytest.raises(InvalidInput, match="Failed to find machine-config-operator"):
        referenced(stream(*TAGS, kind="ImageStreamTag"), "references")


@pytest.mark.parametrize(
    ("tags", "warnings"),
    [
        (
            [],
            (
                "Base OS container not found: could not find rhel-coreos in images",
                "Base OS extensions container not found: could not find rhel-coreos-extensions in images",
            ),
        ),
        (
            ["stream-coreos"],
            ("Base OS extensions container not found: could not find stream-coreos-extensions in images",),
        ),
    ],
)
def test_a_release_may_lack_its_operating_system(tags: list[str], warnings: tuple[str, ...]) -> None:
    assert referenced(stream(*TAGS, *tags), "references").warnings == warnings


def test_what_nodes_need() -> None:
    images = {"machineConfigOperator": "o", "infraImage": "i", "oauthProxy": "p", "corednsImage": ""}
    assert for_nodes(images) == {
        "machineConfigOperator": "o",
        "apiServerWatcherKey": "o",
        "infraImageKey": "i",
    }
    assert for_nodes({}) == {}
