"""One session with kubectl, and one transcript that both servers have to bring about.

`MCO_WRITE_TRANSCRIPT=1` writes down what the real server said.
"""

from __future__ import annotations

import json
import os
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.apiserver.session import Normaliser, Transcript
from tests.contract.apiserver.subjects import Killable, KillableProcess, KillableServer
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
        arguments = self._arguments(command)
        result = await self._kubectl.run(*arguments, stdin=text)
        self.transcript.add(arguments, result.out, result.err, result.code)

    async def ask(self, command: str) -> str:
        """An answer that is not taken down."""
        return (await self._kubectl.run(*self._arguments(command))).out

    async def begin(self, command: str) -> Ongoing:
        """Types a command that takes a while."""
        arguments = self._arguments(command)
        return Ongoing(await self._kubectl.start(*arguments), arguments, self.transcript)

    def _arguments(self, command: str) -> list[str]:
        return [part.replace("~", " ") for part in command.replace("@", self.name).split(" ")]


class Ongoing:
    """A command that has not ended yet; what it says is taken down when it has."""

    def __init__(self, child: Process, arguments: list[str], transcript: Transcript) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child = child
        self._arguments = arguments
        self._transcript = transcript
        self._out, self._err = child.stdout, child.stderr
        self._seen = {self._out: "", self._err: ""}

    async def says(self, lines: int) -> None:
        """Waits for so many more lines."""
        for _ in range(lines):
            self._seen[self._out] += (await self._out.readline()).decode()

    async def complains_of(self, text: str) -> None:
        """Waits for a line of errors with that text."""
        line = ""
        while text not in line:
            line = (await self._err.readline()).decode()
            assert line, self._seen
            self._seen[self._err] += line

    async def end(self, *, interrupt: bool = False) -> None:
        if interrupt:
            self._child.terminate()
        out, err = await self._child.communicate()
        code = 0 if interrupt else self._child.returncode or 0
        said = (self._seen[self._out] + out.decode(), self._seen[self._err] + err.decode())
        self._transcript.add(self._arguments, *said, code)


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
    pool = {
        "kind": "MachineConfigPool",
        "name": run.name,
        "uid": await run.ask("get mcp @ -o jsonpath={.metadata.uid}"),
    }
    about = {"metadata": {"name": f"{run.name}.2", "namespace": "default"}, "involvedObject": pool}
    await run("create -f -", EVENT | about | {"reason": "Updating", "message": "Pool is updating"})
    await run("describe mcp @")


async def _watching(run: Session, server: Killable) -> None:
    run.transcript.note("get -w, and the server is killed and comes back")
    watch = await run.begin("get node @ -w")
    await watch.says(2)
    await run("label node @ seen=before")
    await watch.says(1)
    server.kill()
    await watch.end()
    run.transcript.happened("the server was killed")
    await run("get node @ -w")
    server.start()
    run.transcript.happened("the server is back")
    watch = await run.begin("get node @ -w -L seen")
    await watch.says(2)
    await run("label node @ seen=after --overwrite")
    await watch.says(1)
    await watch.end(interrupt=True)


async def _draining(run: Session) -> None:
    run.transcript.note("cordon, drain, uncordon")
    await run("uncordon @")
    await run("uncordon @")
    await run("cordon @")
    await run("create -f -", _pod(run.name, "p"))
    await run("drain @ --timeout=20s")
    await run("drain @ --force --timeout=20s")
    await run("get pods -n @")


async def _waiting_for_a_budget(run: Session) -> None:
    run.transcript.note("drain waits for a PodDisruptionBudget")
    await run("create -f -", _pod(run.name, "q"))
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    patch = json.dumps(ready, separators=(",", ":"))
    await run(f"patch pod q -n @ --subresource=status -p {patch}")
    await run("create pdb b -n @ --selector=app=q --min-available=1")
    await run("wait pdb b -n @ --for=jsonpath={.status.currentHealthy}=1 --timeout=60s")
    await run("get pdb -n @")
    await run("get pdb b -n @ -o yaml")
    await run("describe pdb b -n @ --show-events=false")
    drain = await run.begin("drain @ --force --timeout=120s")
    await drain.complains_of("will retry after 5s")
    await run('patch pdb b -n @ -p {"spec":{"minAvailable":0}}')
    await run("wait pdb b -n @ --for=condition=DisruptionAllowed --timeout=60s")
    await drain.end()
    await run("get pods -n @")
    await run("delete pdb b -n @")


def _pod(namespace: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            "nodeName": namespace,
            "containers": [{"name": "c", "image": "i"}],
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
        },
    }


async def _deleting(run: Session) -> None:
    run.transcript.note("delete")
    await run("delete configmap c -n @ --cascade=orphan")
    await run("delete secret s -n @ --cascade=foreground --timeout=20s")
    await run("delete mcp @ --cascade=background")
    await run("delete mcp @")
    await run("delete mcp @ --ignore-not-found")
    await run("delete node @")
    await run("delete namespace @ --timeout=60s")


@pytest.fixture(params=["embedded", "real"])
def endpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Killable]:
    """Not the one of all tests: this one dies in between."""
    if request.param == "real":
        yield KillableServer(request.getfixturevalue("real_apiserver"))
        return
    folder = tmp_path / "server"
    folder.mkdir()
    server = KillableProcess(folder)
    yield server
    server.kill()


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("controllers")
async def test_a_session_reads_the_same_on_both_servers(kubectl: Kubectl, endpoint: Killable) -> None:
    await install(kubectl)
    run = Session(kubectl, "session-1")
    for part in (_applying, _creating, _changing, _looking):
        await part(run)
    await _watching(run, endpoint)
    for part in (_draining, _waiting_for_a_budget, _deleting):
        await part(run)
    text = run.transcript.text()
    if os.environ.get("MCO_WRITE_TRANSCRIPT") and endpoint.is_real:
        EXPECTED.write_text(text)
    assert text == EXPECTED.read_text()
