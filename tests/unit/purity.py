"""Uses the pure packages with every file, socket and process forbidden; prints `pure` if nothing was touched.

Run as a program: an audit hook cannot be taken off again.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import mco.api
import mco.base
import mco.ignition
import mco.plan
import mco.render
from mco.api import names, yaml
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import PoolConfiguration
from mco.ignition import translate
from mco.plan.node import diff, disruption, policies, update
from mco.plan.node.target import pair
from mco.plan.pool import rollout, status
from mco.render import builtin, lint
from mco.render.pool import render

PACKAGES: tuple[ModuleType, ...] = (mco.base, mco.api, mco.ignition, mco.render, mco.plan)
FORBIDDEN = (
    "open",
    "socket.",
    "subprocess.",
    "os.",
    "shutil.",
    "tempfile.",
    "sqlite3.",
    "urllib.",
    "ctypes.",
)

touched: list[str] = []


def forbid(event: str, _: Any) -> None:
    if event.startswith(FORBIDDEN):
        touched.append(event)
        raise PermissionError(event)


def config(name: str, text: str) -> MachineConfig:
    document = f"""
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: {name}, labels: {{machineconfiguration.openshift.io/role: worker}}}}
spec:
  kernelArguments: [{text}]
  config:
    ignition: {{version: 3.2.0}}
    passwd: {{users: [{{name: core, sshAuthorizedKeys: ["ssh-rsa AAAA {text}"]}}]}}
    storage: {{files: [{{path: /etc/{name}, mode: 0644, contents: {{source: "data:,{text}"}}}}]}}
    systemd: {{units: [{{name: a.service, contents: "[Service]"}}]}}
"""
    (body,) = yaml.load_all(document.encode(), name)
    return as_config(body)


def as_config(body: Any) -> MachineConfig:
    return msgspec.json.decode(msgspec.json.encode(body), type=MachineConfig)


def work() -> None:
    """From YAML to what a node would do, and what a pool would say."""
    pool = builtin.pool("worker")
    rendered: list[MachineConfig] = []
    for text in ("one", "two"):
        made = render(pool, [config("a", text), config("b", "x")], ControllerConfig())
        assert made.provenance
        assert made.size
        rendered.append(as_config(made.machine_config))
    old, new = pair(*rendered)
    changes = diff.compare(old, new)
    assert update.actions(old, new, changes)
    assert disruption.in_cluster(old, new, changes, policies.DEFAULT).reboot
    assert translate.down(new.config, "3.2.0")
    lint.lint(new.config)
    spec = msgspec.structs.replace(pool.spec, configuration=PoolConfiguration(name=new.name))
    target = msgspec.structs.replace(pool, spec=spec)
    annotations = {names.CURRENT_CONFIG: old.name, names.DESIRED_CONFIG: old.name, names.STATE: "Done"}
    node = msgspec.convert({"metadata": {"name": "n", "annotations": annotations}}, Node)
    assert [n.name for n in rollout.plan(target, [node]).targets] == ["n"]
    assert status.status(target, [node], {}, (), "2026-01-01T00:00:00Z").machine_count == 1


def main() -> None:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    sys.addaudithook(forbid)
    work()
    assert not touched, touched
    # The hook works: what it forbids is refused.
    try:
        Path("/etc/hostname").read_bytes()
    except PermissionError:
        print("pure")


if __name__ == "__main__":
    main()
