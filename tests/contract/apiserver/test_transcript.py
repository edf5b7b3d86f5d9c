"""One session with kubectl, and one transcript that both servers have to bring about.

`MCO_WRITE_TRANSCRIPT=1` writes down what the real server said.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract.apiserver.endpoint import Endpoint
from tests.contract.apiserver.session import Normaliser, Transcript
from tests.contract.apiserver.test_kubectl import Kubectl, install, kubectl

__all__ = ["kubectl"]

EXPECTED = Path(__file__).with_name("transcript.txt")
POOL = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: {name}
  labels:
    kept: {name}
    dropped: "2"
spec:
  machineConfigSelector:
    matchLabels:
      role: {name}
  maxUnavailable: 10%
  paused: false
"""
EVENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Event",
    "reason": "Reboot",
    "message": "Node will reboot",
    "type": "Normal",
    "source": {"component": "machineconfigdaemon"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:00Z",
    "count": 1,
}


class Session:
    def __init__(self, kubectl: Kubectl, prefix: str) -> None:
        self.name = prefix
        self._kubectl = kubectl
        self.transcript = Transcript(Normaliser(((str(kubectl.folder), "<folder>"), (prefix, "<name>"))))

    async def __call__(self, command: str, stdin: Any = "") -> None:
        """Types `command` and takes down the answer; `stdin` may be an object."""
        text = stdin if isinstance(stdin, str) else json.dumps(stdin)
        arguments = [part.replace("~", " ") for part in command.replace("@", self.name).split(" ")]
        result = await self._kubectl.run(*arguments, stdin=text)
        self.transcript.add(arguments, result.out, result.err, result.code)


async def _applying(run: Session) -> None:
    run.transcript.note("apply: created, unchanged, a field dropped")
    pool = POOL.format(name=run.name)
    fewer = pool.replace('    dropped: "2"\n', "").replace("10%", "2")
    for manifest in (pool, pool, fewer, fewer):
        await run("apply -f -", manifest)
    await run("get mcp @ -o yaml")
    await run("apply -f -", pool.replace("maxUnavailable", "maxUnavailble"))
    await run("apply -f -", pool.replace("false", "maybe"))
    await run("apply --dry-run=server -f -", pool)
    await run("diff -f -", fewer)


async def _creating(run: Session) -> None:
    run.transcript.note("create, and create again")
    await run("create namespace @")
    await run("create namespace @")
    await run("create configmap c --from-literal=k=v -n @")
    await run("create secret generic s --from-literal=k=v -n @")
    await run("create -f -", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": run.name}})
    await run("get configmap c -n @ -o yaml")
    await run("get configmap,secret -n @")
    await run("get configmap missing -n @")
    await run("get nothing")


async def _changing(run: Session) -> None:
    run.transcript.note("edit, patch, label, annotate")
    await run("edit mcp @")
    await run('patch mcp @ --type=merge -p {"spec":{"maxUnavailable":"20%"}}')
    await run('patch mcp @ --type=json -p [{"op":"remove","path":"/spec/maxUnavailable"}]')
    await run('patch mcp @ --type=strategic -p {"spec":{"paused":true}}')
    await run('patch mcp @ --type=json -p [{"op":"test","path":"/spec/paused","value":"no"}]')
    await run('patch node @ -p {"spec":{"unschedulable":true}}')
    await run('patch node @ -p {"spec":{"unschedulable":true}}')
    await run("label node @ a=b")
    await run("label node @ a=c")
    await run("label node @ a=c --overwrite")
    await run("label node @ a-")
    await run("annotate node @ e=f")
    await run("taint node @ k=v:NoSchedule")
    await run("taint node @ k=v:Sometimes")
    await run("get mcp @ -o jsonpath={.spec}")
    await run("get node @ -o jsonpath={.spec}")


async def _looking(run: Session) -> None:
    run.transcript.note("get, wait, explain, describe")
    await run("get mcp @")
    await run("get mcp -l kept=@")
    await run("get mcp -l kept=other")
    await run("get node @ -o custom-columns=NAME:.metadata.name,TAINT:.spec.taints[*].key")
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "m"}]}}
    await run(f"patch node @ --subresource=status -p {json.dumps(ready, separators=(',', ':'))}")
    await run("wait node @ --for=condition=Ready --timeout=10s")
    await run("wait node @ --for=condition=Other --timeout=1s")
    await run("wait node @ --for=jsonpath={.spec.unschedulable}=true --timeout=10s")
    await run("get node @")
    await run("explain mcp.spec.paused")
    await run("explain mcp.spec.machineConfigSelector.matchExpressions.operator")
    await run("explain mcp.spec.nothing")
    event = EVENT | {
        "metadata": {"name": f"{run.name}.1", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": run.name, "uid": run.name},
    }
    await run("create -f -", event)
    await run("get events --field-selector involvedObject.name=@")
    await run("describe mcp @")


async def _draining(run: Session) -> None:
    run.transcript.note("cordon, drain, uncordon")
    await run("uncordon @")
    await run("uncordon @")
    await run("cordon @")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": run.name},
        "spec": {
            "nodeName": run.name,
            "containers": [{"name": "c", "image": "i"}],
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
        },
    }
    await run("create -f -", pod)
    await run("drain @ --timeout=20s")
    await run("drain @ --force --timeout=20s")
    await run("get pods -n @")


async def _deleting(run: Session) -> None:
    run.transcript.note("delete")
    await run("delete configmap c -n @ --cascade=orphan")
    await run("delete secret s -n @ --cascade=foreground --timeout=20s")
    await run("delete mcp @ --cascade=background")
    await run("delete mcp @")
    await run("delete mcp @ --ignore-not-found")
    await run("delete node @")
    await run("delete namespace @ --timeout=60s")


@pytest.mark.usefixtures("controllers")
async def test_a_session_reads_the_same_on_both_servers(
    kubectl: Kubectl, endpoint: Endpoint, prefix: str
) -> None:
    await install(kubectl)
    run = Session(kubectl, f"session-{prefix}")
    for part in (_applying, _creating, _changing, _looking, _draining, _deleting):
        await part(run)
    text = run.transcript.text()
    if os.environ.get("MCO_WRITE_TRANSCRIPT") and endpoint.is_real:
        EXPECTED.write_text(text)
    assert text == EXPECTED.read_text()
