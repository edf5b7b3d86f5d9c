"""spec/operator.md 1.6: authorities of image registries, from ConfigMaps of every make."""

from __future__ import annotations

import base64

import pytest

from mco.api.core import ConfigMap
from mco.api.meta.objects import ObjectMeta
from mco.base.errors import InvalidInput
from mco.plan.installation import registries
from mco.plan.installation.contents import contents
from mco.plan.installation.discovered import Sources, fields
from mco.plan.installation.registries import Registries

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def config_map(data: dict[str, str] | None = None, binary: dict[str, str] | None = None) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="m", namespace="n"), data=data, binary_data=binary)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (PEM, PEM.encode()),
        (encoded(PEM.encode()), PEM.encode()),
        (encoded(b"ab") + "\n", b"ab"),
        ("YWI", b"YWI"),
        ("YWI==", b"YWI=="),
        ("YW=I", b"YW=I"),
        ("", b""),
    ],
)
def test_a_text_may_be_base64(text: str, value: bytes) -> None:
    assert contents(config_map({"key": text})) == {"key": value}


def test_texts_come_first_and_keys_are_sorted() -> None:
    found = contents(config_map({"z": "1,", "b": "2,"}, {"y": encoded(b"3"), "a": encoded(b"4")}))
    assert list(found.items()) == [("b", b"2,"), ("z", b"1,"), ("a", b"4"), ("y", b"3")]


def test_a_binary_value_that_is_none() -> None:
    with pytest.raises(InvalidInput) as raised:
        contents(config_map(binary={"key": "?"}))
    assert (raised.value.subject, raised.value.path) == ("ConfigMap/n/m", "$.binaryData['key']")


def test_fields_of_a_controller_config() -> None:
    """What nobody says any more is cleared, so that nodes stop to trust it."""
    found = Registries(managed={"a..5000": b"1"}, users={"b": b"2"}, pull_secret=b"{}")
    assert fields(Sources(registries=found), "1") == {
        "imageRegistryBundleData": [{"file": "a..5000", "data": encoded(b"1")}],
        "imageRegistryBundleUserData": [{"file": "b", "data": encoded(b"2")}],
        "internalRegistryPullSecret": encoded(b"{}"),
    }
    assert fields(Sources(registries=Registries()), "1") == {
        "imageRegistryBundleData": [],
        "imageRegistryBundleUserData": [],
        "internalRegistryPullSecret": None,
    }


def test_what_a_user_says_counts() -> None:
    found = Registries(managed={"a": b"1", "b": b"1"}, users={"b": b"2", "c": b"\xff"})
    made = registries.merged(found)
    assert made["data"] == {"a": "1", "b": "2"}
    assert made["binaryData"] == {"c": encoded(b"\xff")}
    assert made["metadata"]["annotations"] == {"openshift.io/owning-component": "Machine Config Operator"}
