"""What a machine is served: its pool's rendered MachineConfig and what it needs to become a node.

spec/operator.md 3.4, with the decisions of its section 9: files that hold a credential or a whole config are
0600, and nothing that comes in is changed. The MachineConfig that is written to the machine describes exactly
what was served: after the authorities were refreshed and the kernel arguments moved (docs/differences.md).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import msgspec

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfig import MachineConfig
from mco.base.errors import InvalidInput
from mco.ignition.dataurl import encode_percent
from mco.ignition.encode import to_json
from mco.ignition.parse import parse_and_convert
from mco.ignition.types import EMPTY, Config, File, KernelArguments, Resource

PUBLIC, PRIVATE = 0o644, 0o600
_KERNEL_ARGUMENTS_SINCE = (3, 3)
_BUNDLE_FOLDER = "/etc/docker/certs.d"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the bytes. `image` is the pool's built OS image, if it has one;
    `bundles` are registry authorities by registry (bootstrap only); `encapsulated_version` overrides the
    negotiated version of the encapsulated MachineConfig (the bootstrap server's is always the newest)."""

    machine_config: MachineConfig
    controller: ControllerConfig
    image: str = ""
    bundles: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    encapsulated_version: str = ""


def served_config(source: Source, version: str, kubeconfig: bytes) -> Config:
    """The config for a client that negotiated `version`, in the newest spec.

    Raises IgnitionError if the MachineConfig's Ignition part is broken, InvalidInput if the client is too old
    for it or the ControllerConfig's certificates are not base64."""
    machine_config = source.machine_config
    config = _parsed(machine_config)
    if _older(version, _KERNEL_ARGUMENTS_SINCE):
        machine_config, config = _with_moved_kernel_arguments(machine_config, config, version)
    config = _with_authorities(config, source.controller)
    if source.image:
        machine_config = _with_spec(machine_config, os_image_url=source.image)
    content = _with_spec(machine_config, config=msgspec.Raw(to_json(config)))
    empty = msgspec.Raw(empty_config(source.encapsulated_version or version))
    encapsulated = _with_spec(machine_config, config=empty)
    return _with_files(
        config,
        _file(names.NODE_ANNOTATIONS_FILE, _node_annotations(source), PUBLIC),
        _file(names.KUBECONFIG_FILE, kubeconfig, PRIVATE),
        _file(names.SERVED_CONFIG_FILE, msgspec.json.format(msgspec.json.encode(content), indent=4), PRIVATE),
        *(_file(f"{_BUNDLE_FOLDER}/{key}/ca.crt", data, PUBLIC) for key, data in source.bundles.items()),
        _file(names.ENCAPSULATED_FILE, msgspec.json.encode(encapsulated), PRIVATE),
    )


def empty_config(version: str) -> bytes:
    """An Ignition config that says nothing; it reads the same in every version."""
    return msgspec.json.encode({"ignition": {"version": version}})


def _parsed(machine_config: MachineConfig) -> Config:
    raw = bytes(machine_config.spec.config)
    return parse_and_convert(raw) if raw and raw != b"null" else EMPTY


def _older(version: str, than: tuple[int, int]) -> bool:
    major, minor, _ = version.split(".")
    return (int(major), int(minor)) < than


def _with_moved_kernel_arguments(
    machine_config: MachineConfig, config: Config, version: str
) -> tuple[MachineConfig, Config]:
    """Arguments that old Ignition cannot read travel in the MachineConfig; first boot sets them."""
    arguments = config.kernel_arguments
    if arguments.should_not_exist:
        raise InvalidInput(
            f"Ignition {version} cannot remove kernel arguments",
            subject=f"MachineConfig/{machine_config.name}",
            path="$.spec.config.kernelArguments.shouldNotExist",
            hint="remove the entries, or boot machines whose Ignition reads spec 3.3.0",
        )
    if not arguments.should_exist:
        return machine_config, config
    moved = (*(machine_config.spec.kernel_arguments or ()), *arguments.should_exist)
    cleared = msgspec.structs.replace(config, kernel_arguments=KernelArguments())
    return _with_spec(machine_config, kernel_arguments=moved), cleared


def _with_authorities(config: Config, controller: ControllerConfig) -> Config:
    """Current authorities, so that a machine of a paused pool boots with them too."""
    spec = controller.spec
    for path, field, data in (
        (names.KUBELET_CA_FILE, "kubeAPIServerServingCAData", spec.kube_api_server_serving_ca_data),
        (names.CLOUD_CA_FILE, "cloudProviderCAData", spec.cloud_provider_ca_data),
    ):
        if data:
            config = _with_authority(config, path, _decoded(controller, field, data))
    return config


def _with_authority(config: Config, path: str, data: bytes) -> Config:
    files = config.storage.files
    if not any(file.path == path for file in files):
        return _with_files(config, _file(path, data, PUBLIC))
    # The whole contents are replaced: an old compression or checksum would not fit the new bytes.
    contents = _file(path, data, PUBLIC).contents
    replaced = tuple(
        msgspec.structs.replace(file, contents=contents) if file.path == path else file for file in files
    )
    return _with_storage_files(config, replaced)


def _node_annotations(source: Source) -> bytes:
    """What the daemon puts on the Node when it registers (spec/daemon.md 3)."""
    name = source.machine_config.name
    annotations = {
        names.CURRENT_CONFIG: name,
        names.DESIRED_CONFIG: name,
        names.FIRST_PIVOT_CONFIG: name,
        names.STATE: names.STATE_DONE,
    }
    image = source.machine_config.metadata.annotation(names.PRE_BUILT_IMAGE) or source.image
    if image:
        annotations |= {names.CURRENT_IMAGE: image, names.DESIRED_IMAGE: image}
    return msgspec.json.encode(annotations, order="sorted")


def _file(path: str, data: bytes, mode: int) -> File:
    return File(path=path, mode=mode, overwrite=True, contents=Resource(source=encode_percent(data)))


def _with_files(config: Config, *files: File) -> Config:
    """`config` with `files` at the end, in place of any of the same path: those would be duplicates, which
    Ignition refuses."""
    paths = {file.path for file in files}
    kept = (file for file in config.storage.files if file.path not in paths)
    return _with_storage_files(config, (*kept, *files))


def _with_storage_files(config: Config, files: tuple[File, ...]) -> Config:
    return msgspec.structs.replace(config, storage=msgspec.structs.replace(config.storage, files=files))


def _with_spec(machine_config: MachineConfig, **changes: object) -> MachineConfig:
    spec = msgspec.structs.replace(machine_config.spec, **changes)
    return msgspec.structs.replace(machine_config, spec=spec)


def _decoded(controller: ControllerConfig, field: str, data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise InvalidInput(
            "the certificates are not base64",
            subject=f"ControllerConfig/{controller.name}",
            path=f"$.spec.{field}",
        ) from None
