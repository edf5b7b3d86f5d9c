"""A simulated node: `plan/node` decides, `daemon/announce` speaks, and a few numbers stand for the machine.

It follows the whole protocol of annotations: state and reason, desired and current config, drain requests and
their answers, and the conditions of its MachineConfigNode when it is shown one. Whoever owns it feeds it
views of both objects (`saw_node`, `saw_report`) and gives it a connection for its answers.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import assert_never

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta.objects import Object, ObjectReference
from mco.base.errors import MCOError
from mco.daemon import announce, texts
from mco.daemon.registration import Registration
from mco.daemon.report import Reporter
from mco.kube.client import Client
from mco.plan.node import steps
from mco.plan.node.observation import Disk, Observation, Phase, Transaction, Verified, decisive, view
from mco.plan.node.policies import REBOOT
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger
from mco.sim.library import Library
from mco.sim.script import Script

_log = Logger("mco.sim")

_PATIENCE = 600.0
"""Waits for an answer are counted in steps of so many seconds, so that nodes that wait are alike."""


class _Silence:
    """Events of simulated nodes are for nobody."""

    def event(self, regarding: Object | ObjectReference, type_: str, reason: str, message: str) -> None:
        pass


class SimulatedNode:
    """`recorded`: the config that its disk holds at first. `script` may be changed at any time. `boots`
    counts the starts of its system."""

    def __init__(
        self, client: Client, library: Library, name: str, script: Script, clock: Clock, *, recorded: str
    ) -> None:
        self.name = name
        self.script = script
        self.boots = 1
        self._client = client
        self._library = library
        self._clock = clock
        self._recorded = recorded
        self._transaction: Transaction | None = None
        self._failed: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._start()

    def _start(self) -> None:
        """What a new process knows: nothing."""
        self._reporter = Reporter(self._client, _Silence(), self._clock)
        self._started = False
        self._verified: Verified | None = None
        self._pending = ("", 0.0)

    @property
    def boot_id(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}/{self.boots}"))

    def registered(self, registration: Registration) -> None:
        self._reporter.news = registration.news

    def saw_node(self, _: Node | None, new: Node | None) -> None:
        before = decisive(self._reporter.node)
        if self._reporter.saw_node(new) and decisive(self._reporter.node) != before:
            self._changed.set()

    def saw_report(self, _: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        appeared = self._reporter.mcn is None and new is not None
        if self._reporter.saw_mcn(new) and appeared:
            self._changed.set()

    async def live(self, attached: Callable[[SimulatedNode], AbstractAsyncContextManager[None]]) -> None:
        """Until cancelled. `attached` connects the node to its views for the time of one boot."""
        while True:
            async with attached(self):
                down = await self._until_reboot()
            await self._clock.sleep(down)
            self.boots += 1
            self._start()

    async def _until_reboot(self) -> float:
        """Returns how many seconds the machine is away."""
        while True:
            self._changed.clear()
            node = self._reporter.node
            try:
                if node is None:
                    await self._pause(None)
                elif self.script.brief:
                    await self._obey(node)
                elif (down := await self._pass(node)) is not None:
                    return down
            except MCOError as error:
                _log.warning("trying again", node=self.name, error=str(error))
                await self._clock.sleep(self.script.retry)

    async def _pause(self, seconds: float | None) -> None:
        """Until something decisive changes, or `seconds` have passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    # A node that is quick

    async def _obey(self, node: Node) -> None:
        seen = view(node)
        if not seen.desired or (seen.desired == seen.current and seen.state == names.STATE_DONE):
            await self._pause(None)
            return
        if self._fails(seen.desired):
            await self._fail(seen.desired)
            return
        self._recorded = seen.desired
        announce.finish(self._reporter, self.name, seen.desired)
        await self._reporter.flush()

    # A node that takes every step

    async def _pass(self, node: Node) -> float | None:
        seen = await self._observe(node)
        step = self._library.decide(seen)
        _log.debug("next step", node=self.name, step=type(step).__name__, because=step.because)
        if isinstance(step, steps.Reboot):
            return await self._reboot(step)
        await self._take(step, seen)
        return None

    async def _observe(self, node: Node) -> Observation:
        seen = view(node)
        request = seen.desired_drain if seen.drain_pending else ""
        if self._pending[0] != request:
            self._pending = (request, self._clock.monotonic())
        waited = self._clock.monotonic() - self._pending[1] if request else 0.0
        return Observation(
            node=seen,
            disk=Disk(boot_id=str(self.boots), recorded=self._recorded, transaction=self._transaction),
            configs=self._library.configs,
            missing=self._library.missing,
            policies=await self._library.policies(seen.desired) if seen.desired != self._recorded else None,
            verified=self._verified,
            started=self._started,
            waited=waited // _PATIENCE * _PATIENCE,
        )

    async def _take(self, step: steps.AnyStep, seen: Observation) -> None:
        reporter = self._reporter
        match step:
            case steps.Begin():
                await self._begin(step, seen)
            case steps.Undo():
                await self._undo(step)
            case steps.Close():
                self._transaction = None
            case steps.AskForDrain():
                announce.drain_request(reporter, self.name, step, seen)
                await reporter.flush()
            case steps.AskForUncordon():
                announce.uncordon_request(reporter, step, seen)
                await reporter.flush()
            case steps.Finish(config=config):
                announce.rebooted(reporter, seen)
                announce.finish(reporter, self.name, config)
                await reporter.flush()
            case steps.Settle():
                self._started = True
                announce.rebooted(reporter, seen)
                reporter.step(texts.updated(self.name))
                await reporter.flush()
                await self._pause(None)
            case steps.Refuse(text=text):
                announce.refusal(reporter, self.name, names.STATE_UNRECONCILABLE, text)
                await self._rest()
            case steps.Degrade(text=text, prepared=prepared):
                said = announce.failure if prepared else announce.refusal
                said(reporter, self.name, names.STATE_DEGRADED, text)
                await self._rest()
            case steps.Wait(seconds=seconds):
                announce.rebooted(reporter, seen)
                await reporter.flush()
                await self._pause(seconds)
            case steps.Verify(config=config):
                self._verified = Verified(config)
            case steps.Fetch(configs=configs):
                for config in configs:
                    await self._library.fetch(config)
            case steps.Initialise(annotations=annotations):
                reporter.annotate(annotations)
                await reporter.flush()
            case steps.FetchPolicies():
                await self._clock.sleep(self.script.retry)
            case steps.Record() | steps.Reboot():
                raise AssertionError(step)
            case _:
                assert_never(step)

    async def _begin(self, step: steps.Begin, seen: Observation) -> None:
        plan, reporter = step.update, self._reporter
        old, new, posts = plan.old.name, plan.new.name, plan.disruption.actions
        if not step.resumed and seen.node.last_applied_drain != f"drain-{new}":
            announce.update_without_drain(reporter, self.name, plan, seen)
            await reporter.flush()
        phase = Transaction(
            old=old, new=new, phase=Phase.APPLYING, boot_id=str(self.boots), post_actions=posts
        )
        self._transaction, self._verified = phase, None
        if not await self._work(self.script.fate(self.name, new).apply, new):
            return
        if self._fails(new):
            self._transaction = None
            await self._fail(new)
            return
        self._recorded = new
        reboots = any(post.type == REBOOT for post in posts)
        self._transaction = Transaction(
            old=old,
            new=new,
            phase=Phase.REBOOTING if reboots else Phase.PERFORMED,
            boot_id=str(self.boots),
            post_actions=posts,
        )
        announce.applied(reporter, self.name, plan, seen)

    async def _work(self, seconds: float, config: str) -> bool:
        """Takes its time; False when another config is wanted meanwhile."""
        end = self._clock.monotonic() + seconds
        while (left := end - self._clock.monotonic()) > 0:
            self._changed.clear()
            await self._pause(left)
            node = self._reporter.node
            if node is not None and view(node).desired not in ("", config):
                return False
        return True

    async def _undo(self, step: steps.Undo) -> None:
        self._recorded, self._verified = step.config, None
        self._transaction = None

    async def _reboot(self, step: steps.Reboot) -> float:
        announce.reboot(self._reporter, step.config)
        await self._reporter.flush()
        return self.script.fate(self.name, step.config).reboot

    # Failures

    def _fails(self, config: str) -> bool:
        return self._failed.get(config, 0) < self.script.fate(self.name, config).failures

    async def _fail(self, config: str) -> None:
        self._failed[config] = self._failed.get(config, 0) + 1
        announce.failure(self._reporter, self.name, names.STATE_DEGRADED, self.script.reason)
        await self._rest()

    async def _rest(self) -> None:
        await self._reporter.flush()
        await self._pause(self.script.retry)
        self._verified = None
        self._library.retry()
