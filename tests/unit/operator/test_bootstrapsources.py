"""spec/operator.md 1.16: an installer's files, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mco.base.errors import InvalidInput
from mco.operator import bootstrapsources
from mco.operator.bootstrapfiles import FILES
from mco.operator.bootstrapsources import Found
from mco.plan.installation.discovered import fields
from tests import installer
from tests.installer import config_map, pem, setting

NAMED = installer.setting(
    "Infrastructure",
    spec={"cloudConfig": {"name": "cloud-provider-config", "key": "config"}},
    status={"platformStatus": {"type": "Azure"}},
)
UNNAMED = installer.setting("Infrastructure", status={"platformStatus": {"type": "Azure"}})


def read(folder: Path, **changes: Any) -> Found:
    """With other contents for some options; None: the option is not given."""
    contents = installer.files() | {key.replace("_", "-"): value for key, value in changes.items()}
    given = {option: content for option, content in contents.items() if content is not None}
    return bootstrapsources.read(installer.write(folder, given))


@pytest.mark.parametrize("file", [file for file in FILES if file.required], ids=lambda file: file.option)
def test_files_that_have_to_be_there(tmp_path: Path, file: Any) -> None:
    option = f"--{file.option}"
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, **{file.option: None})
    assert (caught.value.message, caught.value.subject) == (f"required file {file.name} not set", option)
    paths = installer.write(tmp_path, installer.files())
    missing = tmp_path / "missing.yaml"
    with pytest.raises(InvalidInput) as caught:
        bootstrapsources.read(paths | {file.option: missing})
    assert caught.value.message == f"cannot read {missing} file. Error: No such file or directory"
    assert (caught.value.subject, caught.value.path) == (option, str(missing))


@pytest.mark.parametrize("file", [file for file in FILES if not file.required], ids=lambda file: file.option)
def test_files_that_may_be_missing(tmp_path: Path, file: Any) -> None:
    paths = installer.write(tmp_path, installer.files())
    for path in (None, tmp_path / "missing.yaml"):
        bootstrapsources.read({**paths, file.option: path})
    with pytest.raises(InvalidInput, match="Is a directory") as caught:
        bootstrapsources.read({**paths, file.option: tmp_path})
    assert caught.value.subject == f"--{file.option}"


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("dns_config_file", installer.PROXY, "failed to read DNS config: expected DNS but got Proxy"),
        ("dns_config_file", "", "failed to read DNS config: expected one DNS"),
        ("proxy_config_file", "- 1", "failed to read proxy config: expected one Proxy"),
        ("network_config_file", "a: [", "failed to read network config: "),
        ("infra_config_file", "{}", "expected Infrastructure but got an object without a kind"),
        ("config_file", installer.DNS, "failed to read Cluster Config file: expected ConfigMap but got DNS"),
        ("config_file", config_map("x") | {"data": {"a": 1}}, "failed to read Cluster Config file: "),
        ("pull_secret", installer.DNS, "failed to read PullSecret file: expected Secret but got DNS"),
        ("root_ca", "nonsense", "doesn't have a valid PEM bundle"),
        ("kube_ca", "nonsense", "doesn't have a valid PEM bundle"),
        ("infra_config_file", NAMED, "cloud-config file not provided but required by infrastructure"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, option: str, content: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, **{option: content})
    wrong = "cloud-config-file" if content is NAMED else option.replace("_", "-")
    assert said in caught.value.message
    assert f"--{wrong}" in caught.value.subject


@pytest.mark.parametrize(
    ("data", "config"),
    [
        ({"cloud_conf": "by the usual key", "config": "by its own"}, "by the usual key"),
        ({"config": "by its own"}, "by its own"),
    ],
)
def test_the_clouds_configuration(tmp_path: Path, data: dict[str, str], config: str) -> None:
    found = read(
        tmp_path,
        infra_config_file=NAMED,
        cloud_config_file=config_map("cloud-provider-config", **data),
        cloud_provider_ca_file=pem("cloud"),
    )
    assert found.sources.cloud == {"cloud.conf": config, "ca-bundle.pem": pem("cloud")}
    assert fields(found.sources, "1")["cloudProviderConfig"] == config


def test_a_configuration_of_the_cloud_without_its_key(tmp_path: Path) -> None:
    wrong = config_map("cloud-provider-config", other="x")
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, infra_config_file=NAMED, cloud_config_file=wrong)
    assert caught.value.message == "cloud-config CR doesn't have 'cloud.conf' or config keys"


def test_a_cloud_whose_infrastructure_names_no_configuration_needs_none(tmp_path: Path) -> None:
    found = read(tmp_path, infra_config_file=UNNAMED)
    assert fields(found.sources, "1")["cloudProviderConfig"] == ""


@pytest.mark.parametrize(
    ("name", "trusted", "taken"),
    [("user-ca-bundle", "", True), ("mine", "mine", True), ("mine", "yours", False)],
)
def test_only_what_the_cluster_will_trust_too(tmp_path: Path, name: str, trusted: str, taken: bool) -> None:
    found = read(
        tmp_path,
        proxy_config_file=setting("Proxy", spec={"trustedCA": {"name": trusted}}),
        additional_trust_bundle_config_file=config_map(name, **{"ca-bundle_crt": pem("user")}),
    )
    assert found.sources.trust == ((pem("user").encode(),) if taken else ())
    assert any("ConfigMap/mine" in warning for warning in found.warnings) == (not taken)


def test_what_the_cluster_will_not_find_is_said(tmp_path: Path) -> None:
    secret = installer.PULL_SECRET | {"metadata": {"name": "other", "namespace": "openshift-config"}}
    found = read(tmp_path, pull_secret=secret, kube_ca=None)
    assert found.sources.pull_secret is None
    assert [warning.split()[0] for warning in found.warnings] == ["nothing", "--kube-ca"]
