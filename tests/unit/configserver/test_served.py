"""spec/operator.md 3.4, 8.9: what a machine is served."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfig import MachineConfig
from mco.base.errors import InvalidInput, MCOError
from mco.configserver.kubeconfig import Endpoint
from mco.configserver.negotiate import NEWEST, SERVED
from mco.configserver.preparation import prepare, prepare_fixed
from mco.configserver.served import Source, empty_config, served_config
from mco.ignition import dataurl
from mco.ignition.parse import parse, parse_and_convert
from mco.ignition.types import Config, File

CA = b"-----BEGIN CERTIFICATE-----\nkubelets\n-----END CERTIFICATE-----\n"
CLOUD_CA = b"-----BEGIN CERTIFICATE-----\ncloud\n-----END CERTIFICATE-----\n"
KUBECONFIG = b"apiVersion: v1\n"
ENDPOINT = Endpoint("https://api-int.example.org:6443", b"authority of the API\n")
APPENDED = (
    names.NODE_ANNOTATIONS_FILE,
    names.KUBECONFIG_FILE,
    names.SERVED_CONFIG_FILE,
    names.ENCAPSULATED_FILE,
)


def machine_config(ignition: dict[str, Any] | None = None, **spec: Any) -> MachineConfig:
    config = {"ignition": {"version": "3.5.0"}} | (ignition or {})
    body = {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": "rendered-worker-1"},
        "spec": {"osImageURL": "registry/os@sha256:1", "config": config, **spec},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=MachineConfig)


def controller(kubelet: bytes | None = None, cloud: bytes | None = None) -> ControllerConfig:
    spec = {
        "kubeAPIServerServingCAData": base64.b64encode(kubelet).decode() if kubelet else None,
        "cloudProviderCAData": base64.b64encode(cloud).decode() if cloud else None,
    }
    return msgspec.convert(
        {"metadata": {"name": "machine-config-controller"}, "spec": spec}, ControllerConfig
    )


def source(ignition: dict[str, Any] | None = None, **changes: Any) -> Source:
    spec = changes.pop("spec", {})
    made = {"machine_config": machine_config(ignition, **spec), "controller": controller()} | changes
    return Source(**made)


def file(path: str, contents: bytes = b"x", **more: Any) -> dict[str, Any]:
    return {"path": path, "contents": {"source": dataurl.encode_base64(contents)}, "mode": 420, **more}


def files(config: Config) -> dict[str, File]:
    found = {entry.path: entry for entry in config.storage.files}
    assert len(found) == len(config.storage.files), "a path stands twice"
    return found


def contents(entry: File) -> bytes:
    return dataurl.decode(entry.contents.source or "", entry.contents.compression)


def served(source: Source, version: str = NEWEST) -> Config:
    return served_config(source, version, KUBECONFIG)


def encapsulated(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(contents(files(config)[names.ENCAPSULATED_FILE]))
    return found


def described(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(contents(files(config)[names.SERVED_CONFIG_FILE]))
    return found


def test_appended_files_come_last_in_order_and_secrets_are_private() -> None:
    config = served(source({"storage": {"files": [file("/etc/motd")]}}))
    assert [entry.path for entry in config.storage.files] == ["/etc/motd", *APPENDED]
    appended = config.storage.files[1:]
    assert [entry.mode for entry in appended] == [0o644, 0o600, 0o600, 0o600]
    assert all(entry.overwrite for entry in appended)
    assert all((entry.contents.source or "").startswith("data:,") for entry in appended)
    assert contents(files(config)[names.KUBECONFIG_FILE]) == KUBECONFIG


def test_registry_authorities_come_before_the_encapsulated_config() -> None:
    config = served(source(bundles={"foo": b"bundle of foo"}))
    path = "/etc/docker/certs.d/foo/ca.crt"
    assert [entry.path for entry in config.storage.files][-2:] == [path, names.ENCAPSULATED_FILE]
    assert (contents(files(config)[path]), files(config)[path].mode) == (b"bundle of foo", 0o644)


def test_a_file_that_the_protocol_needs_replaces_one_of_the_config() -> None:
    config = served(source({"storage": {"files": [file(names.KUBECONFIG_FILE, b"mine", mode=0o777)]}}))
    assert contents(files(config)[names.KUBECONFIG_FILE]) == KUBECONFIG


def test_the_node_starts_as_done_with_its_config() -> None:
    annotations = msgspec.json.decode(contents(files(served(source()))[names.NODE_ANNOTATIONS_FILE]))
    assert annotations == {
        names.CURRENT_CONFIG: "rendered-worker-1",
        names.DESIRED_CONFIG: "rendered-worker-1",
        names.FIRST_PIVOT_CONFIG: "rendered-worker-1",
        names.STATE: "Done",
    }


@pytest.mark.parametrize(
    ("annotation", "image", "announced", "url"),
    [
        ("", "", None, "registry/os@sha256:1"),
        ("", "registry/built@sha256:2", "registry/built@sha256:2", "registry/built@sha256:2"),
        ("registry/pre@sha256:3", "", "registry/pre@sha256:3", "registry/os@sha256:1"),
        (
            "registry/pre@sha256:3",
            "registry/built@sha256:2",
            "registry/pre@sha256:3",
            "registry/built@sha256:2",
        ),
    ],
)
def test_a_built_image_is_announced_and_booted(
    annotation: str, image: str, announced: str | None, url: str
) -> None:
    made = machine_config()
    marks = {names.PRE_BUILT_IMAGE: annotation} if annotation else None
    made = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=marks))
    config = served(source(machine_config=made, image=image))
    annotations = msgspec.json.decode(contents(files(config)[names.NODE_ANNOTATIONS_FILE]))
    assert annotations.get(names.CURRENT_IMAGE) == annotations.get(names.DESIRED_IMAGE) == announced
    assert encapsulated(config)["spec"]["osImageURL"] == described(config)["spec"]["osImageURL"] == url


@pytest.mark.parametrize("version", SERVED)
def test_the_encapsulated_config_is_empty_and_in_the_version_of_the_client(version: str) -> None:
    config = served(source({"storage": {"files": [file("/etc/motd")]}}), version)
    assert encapsulated(config)["spec"]["config"] == {"ignition": {"version": version}}
    assert encapsulated(config)["metadata"]["name"] == "rendered-worker-1"


def test_the_bootstrap_servers_encapsulated_config_is_always_the_newest() -> None:
    config = served(source(encapsulated_version=NEWEST), "3.1.0")
    assert encapsulated(config)["spec"]["config"] == {"ignition": {"version": NEWEST}}


def test_what_is_written_to_the_machine_describes_what_was_served() -> None:
    made = source(
        {"storage": {"files": [file("/etc/motd")]}, "kernelArguments": {"shouldExist": ["a=1"]}},
        controller=controller(CA),
    )
    for version in ("3.2.0", NEWEST):
        config = served(made, version)
        protocol = {*APPENDED}
        kept = tuple(entry for entry in config.storage.files if entry.path not in protocol)
        without = msgspec.structs.replace(config, storage=msgspec.structs.replace(config.storage, files=kept))
        assert parse_and_convert(msgspec.json.encode(described(config)["spec"]["config"])) == without
    text = contents(files(served(made))[names.SERVED_CONFIG_FILE])
    assert b'\n    "metadata": {\n        "name"' in text


@pytest.mark.parametrize("version", ["2.2.0", "3.1.0", "3.2.0"])
def test_kernel_arguments_travel_in_the_machine_config_for_old_clients(version: str) -> None:
    made = source({"kernelArguments": {"shouldExist": ["b=2", "c"]}}, spec={"kernelArguments": ["a=1"]})
    config = served(made, version)
    assert config.kernel_arguments.should_exist == ()
    assert encapsulated(config)["spec"]["kernelArguments"] == ["a=1", "b=2", "c"]
    assert described(config)["spec"]["kernelArguments"] == ["a=1", "b=2", "c"]


@pytest.mark.parametrize("version", ["3.3.0", "3.4.0", "3.5.0"])
def test_newer_clients_get_kernel_arguments_as_they_are(version: str) -> None:
    arguments = {"shouldExist": ["b=2"], "shouldNotExist": ["quiet"]}
    config = served(source({"kernelArguments": arguments}, spec={"kernelArguments": ["a=1"]}), version)
    assert config.kernel_arguments.should_exist == ("b=2",)
    assert config.kernel_arguments.should_not_exist == ("quiet",)
    assert encapsulated(config)["spec"]["kernelArguments"] == ["a=1"]


@pytest.mark.parametrize("version", ["2.2.0", "3.1.0", "3.2.0"])
def test_an_old_client_cannot_remove_kernel_arguments(version: str) -> None:
    with pytest.raises(InvalidInput) as error:
        served(source({"kernelArguments": {"shouldNotExist": ["quiet"]}}), version)
    assert error.value.subject == "MachineConfig/rendered-worker-1"
    assert error.value.path == "$.spec.config.kernelArguments.shouldNotExist"


@pytest.mark.parametrize(
    ("path", "authorities"),
    [(names.KUBELET_CA_FILE, controller(kubelet=CA)), (names.CLOUD_CA_FILE, controller(cloud=CA))],
)
@pytest.mark.parametrize("present", [True, False])
def test_authorities_are_the_current_ones(path: str, authorities: ControllerConfig, present: bool) -> None:
    before = [file("/etc/a"), file(path, b"old", mode=0o640), file("/etc/b")] if present else [file("/etc/a")]
    config = served(source({"storage": {"files": before}}, controller=authorities))
    assert contents(files(config)[path]) == CA
    assert files(config)[path].mode == (0o640 if present else 0o644)
    order = [entry.path for entry in config.storage.files]
    assert order.index(path) == 1


@pytest.mark.parametrize("path", [names.KUBELET_CA_FILE, names.CLOUD_CA_FILE])
def test_without_data_authorities_stay_what_they_are(path: str) -> None:
    assert contents(files(served(source({"storage": {"files": [file(path, b"old")]}})))[path]) == b"old"
    assert path not in files(served(source()))


def test_refreshed_authorities_are_readable_whatever_they_replace() -> None:
    import gzip

    compressed = {
        "path": names.KUBELET_CA_FILE,
        "contents": {
            "source": dataurl.encode_base64(gzip.compress(b"old")),
            "compression": "gzip",
            "verification": {"hash": f"sha512-{'0' * 128}"},
        },
    }
    config = served(source({"storage": {"files": [compressed]}}, controller=controller(CA)))
    replaced = files(config)[names.KUBELET_CA_FILE]
    assert contents(replaced) == CA
    assert replaced.contents.verification.hash is None


def test_authorities_that_are_not_base64_are_named() -> None:
    broken = msgspec.convert(
        {"metadata": {"name": "machine-config-controller"}, "spec": {"kubeAPIServerServingCAData": "%%"}},
        ControllerConfig,
    )
    with pytest.raises(InvalidInput) as error:
        served(source(controller=broken))
    assert error.value.path == "$.spec.kubeAPIServerServingCAData"


@pytest.mark.parametrize("config", [msgspec.Raw(b""), msgspec.Raw(b"null")])
def test_a_machine_config_without_an_ignition_part_is_served(config: msgspec.Raw) -> None:
    made = machine_config()
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, config=config))
    assert [entry.path for entry in served(source(machine_config=made)).storage.files] == list(APPENDED)


def test_a_broken_ignition_part_is_an_error() -> None:
    with pytest.raises(MCOError):
        served(source({"ignition": {"version": "9.9.9"}}))


@pytest.mark.parametrize("version", SERVED)
def test_nothing_that_comes_in_is_changed(version: str) -> None:
    made = source(
        {"storage": {"files": [file(names.KUBELET_CA_FILE)]}, "kernelArguments": {"shouldExist": ["a"]}},
        spec={"kernelArguments": ["b"]},
        controller=controller(CA, CLOUD_CA),
        image="registry/built@sha256:2",
    )
    before = msgspec.json.encode(made.machine_config), msgspec.json.encode(made.controller)
    first = served(made, version)
    assert (msgspec.json.encode(made.machine_config), msgspec.json.encode(made.controller)) == before
    assert served(made, version) == first


@pytest.mark.parametrize("version", SERVED)
def test_an_empty_config_reads_the_same_in_every_version(version: str) -> None:
    assert empty_config(version) == f'{{"ignition":{{"version":"{version}"}}}}'.encode()
    assert parse(empty_config(version)).config.storage.files == ()


def test_each_machine_gets_its_own_token_in_bytes_that_are_otherwise_shared() -> None:
    prepared = prepare(source({"storage": {"files": [file("/etc/motd")]}}), ENDPOINT, NEWEST)
    one = prepared.body("abc123.0123456789abcdef")
    other = prepared.body("zzz999.fedcba9876543210zz")
    assert one[0] is other[0]
    assert one[2] is other[2]
    for body, token in ((one, "abc123.0123456789abcdef"), (other, "zzz999.fedcba9876543210zz")):
        config = parse_and_convert(b"".join(body))
        kubeconfig = yaml.safe_load(contents(files(config)[names.KUBECONFIG_FILE]))
        assert kubeconfig["users"] == [{"name": "kubelet", "user": {"token": token}}]
        others = {path: entry for path, entry in files(config).items() if path != names.KUBECONFIG_FILE}
        expected = files(parse_and_convert(b"".join(prepared.body("x"))))
        assert others == {path: expected[path] for path in others}


def test_the_kubeconfig_is_one_that_clients_understand() -> None:
    prepared = prepare(source(), Endpoint('https://h"ost:1', b"PEM\n"), NEWEST)
    config = parse_and_convert(b"".join(prepared.body("t")))
    assert yaml.safe_load(contents(files(config)[names.KUBECONFIG_FILE])) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "local",
                "cluster": {
                    "server": 'https://h"ost:1',
                    "certificate-authority-data": base64.b64encode(b"PEM\n").decode(),
                },
            }
        ],
        "users": [{"name": "kubelet", "user": {"token": "t"}}],
        "contexts": [{"name": "kubelet", "context": {"cluster": "local", "user": "kubelet"}}],
        "current-context": "kubelet",
    }


def test_a_config_that_names_the_hole_does_not_confuse_it() -> None:
    text = b"join-token-0-goes-here join-token-1-goes-here"
    motd = {"path": "/etc/motd", "contents": {"source": dataurl.encode_percent(text)}}
    prepared = prepare(source({"storage": {"files": [motd]}}), ENDPOINT, NEWEST)
    config = parse_and_convert(b"".join(prepared.body("abc123.0123456789abcdef")))
    assert contents(files(config)["/etc/motd"]) == text
    assert b"abc123.0123456789abcdef" in contents(files(config)[names.KUBECONFIG_FILE])


@pytest.mark.parametrize("token", ['a"b', "a\\b", "a b", "a\nb", "é"])
def test_a_token_that_would_break_out_of_the_kubeconfig_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput) as error:
        prepare(source(), ENDPOINT, NEWEST).body(token)
    assert token not in str(error.value)


def test_the_bootstrap_servers_kubeconfig_is_served_as_it_is() -> None:
    prepared = prepare_fixed(source(), b"kind: Config # any bytes\n\xff", NEWEST)
    config = parse_and_convert(b"".join(prepared.body("")))
    assert contents(files(config)[names.KUBECONFIG_FILE]) == b"kind: Config # any bytes\n\xff"


PATHS = st.lists(
    st.text(alphabet="abcdef-_.", min_size=1, max_size=8).filter(lambda name: name not in (".", "..")),
    unique=True,
    max_size=6,
)


@given(
    names_=PATHS,
    data=st.data(),
    authorities=st.sampled_from([controller(), controller(CA), controller(CA, CLOUD_CA)]),
    version=st.sampled_from(SERVED),
)
def test_any_version_describes_the_same_files(
    names_: list[str], data: st.DataObject, authorities: ControllerConfig, version: str
) -> None:
    entries = [
        file(f"/etc/test/{name}", data.draw(st.binary(max_size=20)), mode=data.draw(st.integers(0, 0o777)))
        for name in names_
    ]
    made = source({"storage": {"files": entries}}, controller=authorities)
    newest = files(parse_and_convert(b"".join(prepare(made, ENDPOINT, NEWEST).body("t"))))
    raw = b"".join(prepare(made, ENDPOINT, version).body("t"))
    parsed = parse(raw)
    assert not parsed.report.fatal
    assert msgspec.json.decode(raw)["ignition"]["version"] == version
    got = files(parsed.config)
    assert got.keys() == newest.keys()
    for path, entry in got.items():
        assert entry.mode == newest[path].mode
        if path != names.ENCAPSULATED_FILE:  # holds the version itself
            assert contents(entry) == contents(newest[path])
