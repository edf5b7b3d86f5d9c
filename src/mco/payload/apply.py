"""Applies a payload: in the order of its graph, with gates, and nothing twice (spec/operator.md 6.2 to 6.5).

Stateless: what a pass did is in the cluster, so a pass that was interrupted is simply made again. Of two that
apply at once each write carries the resourceVersion that it was decided on; who comes second looks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

import msgspec

from mco.base.errors import InvalidInput, MCOError, Unavailable
from mco.kube.wholes import Wholes
from mco.payload import ensure, gate
from mco.payload.graph import Graph, Mode, Node, build, workers
from mco.payload.manifest import Manifest
from mco.runtime.clock import Clock


class Outcome(StrEnum):
    """The words of kubectl."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    WAITING = "waiting"
    FAILED = "failed"


class Step(msgspec.Struct, frozen=True):
    """What just happened to one manifest; `done` of `total` are finished. `message` says what is waited for
    or what went wrong."""

    manifest: Manifest
    outcome: Outcome
    done: int
    total: int
    message: str = ""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, and attempts at one manifest. `gate` is how long a ClusterOperator may keep its gate closed,
    `poll` how often it is looked at."""

    attempts: int = 4
    first_wait: float = 1.0
    longest_wait: float = 15.0
    poll: float = 1.0
    gate: float = gate.SLOW_MACHINE_CONFIG_SECONDS
    established: float = 60.0


class PayloadError(MCOError):
    """Manifests that could not be applied; the others were. `errors` in the order of the payload."""

    def __init__(self, errors: Sequence[tuple[Manifest, MCOError]], incomplete: str) -> None:
        lines = [f"{manifest.identity} ({manifest.place}): {error}" for manifest, error in errors]
        super().__init__("; ".join(filter(None, (*lines, incomplete))))
        self.errors = tuple(errors)


class GateClosed(Unavailable):
    """A ClusterOperator did not report what it should in time; `reason` is the gate's."""

    def __init__(self, closed: gate.Closed) -> None:
        super().__init__(closed.message, subject=f"ClusterOperator/{closed.name}")
        self.reason = closed.reason


async def apply(
    manifests: Sequence[Manifest],
    objects: Wholes,
    mode: Mode,
    clock: Clock,
    report: Callable[[Step], None],
    *,
    attempt: int = 0,
    pace: Pace | None = None,
) -> None:
    """One pass. Raises PayloadError after everything that could be applied was."""
    graph = build(manifests, mode, attempt)
    run = _Pass(objects, mode, clock, report, pace or Pace(), total=len(manifests))
    await run.through(graph)


class _Pass:
    def __init__(
        self,
        objects: Wholes,
        mode: Mode,
        clock: Clock,
        report: Callable[[Step], None],
        pace: Pace,
        *,
        total: int,
    ) -> None:
        self._objects = objects
        self._mode = mode
        self._clock = clock
        self._report = report
        self._pace = pace
        self._total = total
        self._done = 0
        self._errors: dict[int, tuple[Manifest, MCOError]] = {}

    async def through(self, graph: Graph) -> None:
        slots = asyncio.Semaphore(workers(self._mode, graph))
        tasks: list[asyncio.Task[bool]] = []
        for number, node in enumerate(graph):
            before = [tasks[index] for index in node.after]
            tasks.append(asyncio.create_task(self._node(number, node, before, slots)))
        try:
            done = [await task for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
        if self._errors:
            skipped = [n for i, n in enumerate(graph) if not done[i] and i not in self._errors]
            raise PayloadError([self._errors[i] for i in sorted(self._errors)], _incomplete(skipped, graph))

    async def _node(
        self, number: int, node: Node, before: Sequence[asyncio.Task[bool]], slots: asyncio.Semaphore
    ) -> bool:
        """Whether all of it, and all before it, was applied."""
        if not all([await asyncio.shield(task) for task in before]):
            return False
        async with slots:
            await self._announce(node)
            for manifest in node.manifests:
                try:
                    outcome = await self._persistently(manifest)
                except MCOError as error:
                    self._errors[number] = (manifest, error)
                    self._tell(manifest, Outcome.FAILED, str(error))
                    return False
                self._done += 1
                self._tell(manifest, outcome)
        return True

    async def _announce(self, node: Node) -> None:
        """ClusterOperators are there before their operators: whoever looks sees what is being waited for."""
        for manifest in node.manifests:
            if _is_operator(manifest):
                # The gate itself will say so, with its own patience.
                with suppress(MCOError):
                    await self._introduce(manifest)

    async def _introduce(self, manifest: Manifest) -> None:
        if await self._objects.get(manifest.body) is None:
            await self._objects.create({k: v for k, v in manifest.body.items() if k != "status"})

    async def _persistently(self, manifest: Manifest) -> Outcome:
        wait = self._pace.first_wait
        for left in range(self._pace.attempts - 1, -1, -1):
            try:
                return await self._one(manifest)
            except (InvalidInput, GateClosed):
                raise
            except MCOError as error:
                if not left:
                    raise
                self._tell(manifest, Outcome.WAITING, f"{error}; again in {wait:g} s")
            await self._clock.sleep(wait)
            wait = min(2 * wait, self._pace.longest_wait)
        raise AssertionError("no attempt was made")

    async def _one(self, manifest: Manifest) -> Outcome:
        if manifest.deletes:
            return await self._delete(manifest)
        if _is_operator(manifest):
            return await self._pass_gate(manifest)
        found = await self._objects.get(manifest.body)
        if found is None:
            found, outcome = await self._objects.create(manifest.body), Outcome.CREATED
        elif manifest.create_only or not (changes := ensure.patch(manifest.body, found)):
            outcome = Outcome.UNCHANGED
        else:
            changes.setdefault("metadata", {})["resourceVersion"] = found["metadata"]["resourceVersion"]
            found, outcome = await self._objects.patch(manifest.body, changes), Outcome.CONFIGURED
        await self._settled(manifest, found)
        return outcome

    async def _delete(self, manifest: Manifest) -> Outcome:
        """Asked for while updating only, and not waited for: what hangs is not this payload's to end."""
        if self._mode is not Mode.UPDATING or await self._objects.get(manifest.body) is None:
            return Outcome.UNCHANGED
        await self._objects.delete(manifest.body)
        return Outcome.DELETED

    async def _settled(self, manifest: Manifest, found: dict[str, Any]) -> None:
        if manifest.kind == "CustomResourceDefinition":
            await self._established(manifest, found)
        elif self._mode is not Mode.INITIALIZING and (problem := _problem(manifest.kind, found)):
            raise Unavailable(problem, subject=str(manifest.identity))

    async def _established(self, manifest: Manifest, found: dict[str, Any]) -> None:
        """Objects of the kind can only follow when it is served."""
        deadline = self._clock.monotonic() + self._pace.established
        while gate.condition(found, "Established") != "True":
            if self._clock.monotonic() > deadline:
                name = manifest.identity.name
                text = f"CustomResourceDefinition {name} does not report Established condition"
                raise Unavailable(text, subject=str(manifest.identity))
            await self._clock.sleep(min(0.1, self._pace.poll))
            found = await self._objects.get(manifest.body) or found

    async def _pass_gate(self, manifest: Manifest) -> Outcome:
        began, said = self._clock.monotonic(), ""
        initializing = self._mode is Mode.INITIALIZING
        # When this node began, its kind may not have been there.
        await self._introduce(manifest)
        while True:
            found = await self._objects.get(manifest.body)
            closed = gate.closed(manifest.body, found or {}, initializing=initializing)
            if closed is None or closed.effect is gate.Effect.REPORT:
                return Outcome.UNCHANGED
            if self._clock.monotonic() - began > self._pace.gate:
                raise GateClosed(closed)
            if closed.message != said:
                said = closed.message
                self._tell(manifest, Outcome.WAITING, said)
            await self._clock.sleep(self._pace.poll)

    def _tell(self, manifest: Manifest, outcome: Outcome, message: str = "") -> None:
        self._report(Step(manifest, outcome, self._done, self._total, message))


def _incomplete(skipped: Sequence[Node], graph: Graph) -> str:
    if not skipped:
        return ""
    first = skipped[0].manifests[0]
    position = graph.index(skipped[0]) + 1
    return (
        f"{len(skipped)} incomplete task nodes, beginning with {first.identity} ({position} of {len(graph)})"
    )


def _is_operator(manifest: Manifest) -> bool:
    return (manifest.group, manifest.kind) == ("config.openshift.io", "ClusterOperator")


def _problem(kind: str, found: dict[str, Any]) -> str:
    """Why a workload cannot become what it shall; empty while it still may (spec/operator.md 6.3)."""
    if kind in ("Deployment", "DaemonSet") and found["metadata"].get("deletionTimestamp"):
        return f"{kind} is being deleted"
    if kind == "Job" and gate.condition(found, "Failed") == "True":
        return "Job has failed"
    if kind != "Deployment":
        return ""
    if gate.condition(found, "ReplicaFailure") == "True":
        return "Deployment has some pods failing"
    progressing = gate.condition(found, "Progressing")
    if progressing == "False" and gate.condition(found, "Available") == "False":
        return "Deployment is not available and not progressing"
    stuck = any(c.get("reason") == "ProgressDeadlineExceeded" for c in gate.conditions(found))
    return "Deployment exceeded its progress deadline" if stuck else ""
