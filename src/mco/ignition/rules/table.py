"""Which rule looks at which struct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mco.ignition import types as t
from mco.ignition.report import Findings
from mco.ignition.rules import disks, luks, nodes, resources, units
from mco.ignition.versions import parse_version

Rule = Callable[[Any, str, Findings], None]


def check_version(ignition: t.Ignition, path: str, out: Findings) -> None:
    if ignition.version == f"3.{out.minor}.0":
        return
    version = parse_version(ignition.version)
    if version is None:
        out.error(f"{path}.version", "invalid config version (couldn't parse)")
    elif version != (3, out.minor, 0, ""):
        out.error(f"{path}.version", "unsupported config version")


def check_storage(storage: t.Storage, path: str, out: Findings) -> None:
    nodes.check_storage(storage, path, out)
    if storage.disks and storage.filesystems:
        disks.check_partitioned(storage, path, out)


RULES: dict[type, Rule] = {
    t.ClevisCustom: luks.check_custom,
    t.Config: nodes.check_unit_files,
    t.Directory: nodes.check_directory,
    t.Disk: disks.check_disk,
    t.Dropin: units.check_dropin,
    t.File: nodes.check_file,
    t.Filesystem: disks.check_filesystem,
    t.HTTPHeader: resources.check_header,
    t.Ignition: check_version,
    t.IgnitionConfig: resources.check_references,
    t.Link: nodes.check_link,
    t.Luks: luks.check_luks,
    t.NodeGroup: nodes.check_owner,
    t.NodeUser: nodes.check_owner,
    t.Partition: disks.check_partition,
    t.Proxy: resources.check_proxy,
    t.Raid: disks.check_raid,
    t.Resource: resources.check_resource,
    t.Storage: check_storage,
    t.TLS: resources.check_authorities,
    t.Tang: luks.check_tang,
    t.Unit: units.check_unit,
    t.Verification: resources.check_verification,
}
