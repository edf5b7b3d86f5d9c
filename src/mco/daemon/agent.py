"""The node's loop: observe, decide in `plan/node/step`, take the one step, report (design.md 4).

Nothing is remembered between passes that the cluster or the disk does not know, except what was verified
and how long something has been waited for. A pass is made at once after a step, and otherwise when
something that decides changes; failures are tried again after 1 to 60 seconds, or at once when the cluster
asks for something else.
"""

from __future__ import annotations

import asyncio
from typing import assert_never

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta import conditions as cond
from mco.api.resources import MACHINE_CONFIG_NODES, MACHINE_CONFIGURATIONS, NODES
from mco.base.errors import MCOError, Unavailable
from mco.daemon import observe
from mco.daemon.context import Context
from mco.daemon.lending import Lending
from mco.daemon.registration import READY, Registration
from mco.daemon.resting import Resting
from mco.daemon.updating import Updating
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from mco.plan.node import steps
from mco.plan.node.observation import Observation, decisive, view
from mco.plan.node.step import next_step
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.agent")


class Agent:
    """`run` ends only by being cancelled."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._updating = Updating(context)
        self._resting = Resting(context)
        self._lending = Lending(context)
        self._registration: Registration | None = None
        self._ready_task: asyncio.Task[None] | None = None
        # Only this node's own objects: thousands of daemons ask the same server.
        selector = f"metadata.name={context.name}"
        self._nodes = Informer(context.client, NODES, field_selector=selector)
        self._mcns = Informer(context.client, MACHINE_CONFIG_NODES, field_selector=selector)
        self._nodes.add_handler(self._node_changed)
        self._mcns.add_handler(self._mcn_changed)

    async def run(self) -> None:
        following = [asyncio.create_task(informer.run()) for informer in (self._nodes, self._mcns)]
        try:
            await self._nodes.synced()
            await self._mcns.synced()
            while True:
                await self._pass()
        finally:
            following += [task for task in (self._ready_task, self._lending.stop()) if task is not None]
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            self._context.journal.close()

    def registered(self, registration: Registration) -> None:
        """The Node hears what it lacks with the next report, and stays Ready from now on."""
        self._registration = registration
        self._context.reporter.news = registration.news
        self._context.pause.end()
        if (node := self._context.reporter.node) is not None:
            self._check_ready(node)

    # What changes

    def _node_changed(self, _: Node | None, new: Node | None) -> None:
        reporter = self._context.reporter
        before = decisive(reporter.node)
        if reporter.saw_node(new) and decisive(reporter.node) != before:
            self._context.pause.end()
        if new is not None:
            self._check_ready(new)
            self._lending.asked(new)

    def _mcn_changed(self, _: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        appeared = self._context.reporter.mcn is None and new is not None
        if self._context.reporter.saw_mcn(new) and appeared:
            self._context.pause.end()

    def _check_ready(self, node: Node) -> None:
        registration = self._registration
        if registration is None or cond.is_true(node.status.conditions, READY):
            return
        if self._ready_task is None or self._ready_task.done():
            self._ready_task = asyncio.create_task(registration.report_ready(node))

    # Deciding and taking

    async def _pass(self) -> None:
        """One step. Whatever goes wrong in it is reported and tried again."""
        context = self._context
        context.pause.begin_pass()
        node = context.reporter.node
        if node is None:
            await context.pause.wait(None, "waiting for the Node object")
            return
        try:
            seen = await context.observe(view(node))
            step = next_step(seen)
            _log.debug("next step", step=type(step).__name__, because=step.because)
            await self._take(step, seen)
        except Unavailable as error:
            # The cluster cannot hear of it now, and it is no fault of this node.
            _log.warning("the API server is away", error=str(error))
            await context.pause.after_failure(f"trying again: {error}")
            context.configs.retry()
        except MCOError as error:
            await self._resting.degrade_for(error)

    async def _take(self, step: steps.AnyStep, seen: Observation) -> None:
        match step:
            case steps.Begin():
                await self._updating.begin(step, seen)
            case steps.Undo():
                await self._updating.undo(step)
            case steps.Reboot():
                await self._updating.reboot(step, seen.disk)
            case steps.Close():
                await self._updating.close()
            case steps.Record():
                await self._updating.record(step)
            case steps.AskForDrain():
                await self._updating.ask_for_drain(step, seen)
            case steps.AskForUncordon():
                await self._resting.ask_for_uncordon(step, seen)
            case steps.Finish():
                await self._resting.finish(step, seen)
            case steps.Settle():
                await self._resting.settle(step, seen)
            case steps.Refuse():
                await self._resting.refuse(step)
            case steps.Degrade():
                await self._resting.degrade(step)
            case steps.Wait():
                await self._wait(step, seen)
            case steps.Initialise() | steps.Fetch() | steps.FetchPolicies() | steps.Verify():
                await self._look(step, seen)
            case _:
                assert_never(step)

    async def _look(
        self, step: steps.Initialise | steps.Fetch | steps.FetchPolicies | steps.Verify, seen: Observation
    ) -> None:
        """Steps that only bring in what the next decision needs."""
        match step:
            case steps.Initialise(annotations=annotations):
                self._context.reporter.annotate(annotations)
                await self._context.reporter.flush()
            case steps.Fetch(configs=wanted):
                for name in wanted:
                    await self._context.fetch(name, joining=seen.disk.initial is not None)
            case steps.FetchPolicies():
                await self._fetch_policies()
            case steps.Verify():
                await self._verify(step)

    async def _fetch_policies(self) -> None:
        """The policies count only when they are computed from the present spec (spec/daemon.md 6.6)."""
        context, memory = self._context, self._context.memory
        if memory.policies_since is None:
            memory.policies_since = context.clock.monotonic()
        try:
            found = await context.client.get(MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION)
        except NotFoundError:
            found = None
        if found is not None and found.metadata.generation == found.status.observed_generation:
            memory.policies = found.status.node_disruption_policy_status.cluster_policies
            memory.overrides = found.spec.irreconcilable_validation_overrides.storage
            memory.policies_since = None
            return
        await context.pause.wait(context.settings.policies_retry, "waiting for the node disruption policies")

    async def _verify(self, step: steps.Verify) -> None:
        context = self._context
        side = context.target(step.config)
        # Of the config before only the arguments that had to go are of interest; it may be lost.
        before = context.target(step.before) if step.before in context.configs.found else None
        context.memory.verified = await context.worker(observe.verify, context.host, side, before)
        for found in context.memory.verified.findings:
            _log.warning("the machine differs from its config", config=side.name, finding=found.message)

    async def _wait(self, step: steps.Wait, seen: Observation) -> None:
        asked, patience = self._context.memory.reboot_at, self._context.settings.reboot_patience
        if asked is None:
            await self._resting.wait(step, seen)
            return
        # Nothing that the cluster wants meanwhile is done beside a reboot.
        left = asked + patience - self._context.clock.monotonic()
        await self._context.clock.sleep(max(left, 0.0) + 0.1)
