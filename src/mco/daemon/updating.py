"""The steps that change the machine: drain, write, reboot, undo."""

from __future__ import annotations

import asyncio

from mco.api import names
from mco.base.errors import MCOError
from mco.daemon import announce, texts
from mco.daemon.context import Context
from mco.daemon.perform import Interrupted, Performer
from mco.plan.node import steps
from mco.plan.node.disruption import PostAction
from mco.plan.node.observation import Disk, Observation, view
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.update")


class Updating:
    """`reboot_queued` is set once the machine was asked to reboot."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self.reboot_queued = asyncio.Event()

    async def ask_for_drain(self, step: steps.AskForDrain, seen: Observation) -> None:
        reporter = self._context.reporter
        announce.drain_request(reporter, self._context.name, step, seen)
        self._log_update(step.update)
        await reporter.flush()

    async def begin(self, step: steps.Begin, seen: Observation) -> None:
        """Raises Failed or UndoFailed when an action failed; an interruption is found in the journal."""
        plan = step.update
        drained = seen.node.last_applied_drain == f"drain-{plan.new.name}"
        if not drained and not step.resumed:
            announce.update_without_drain(self._context.reporter, self._context.name, plan, seen)
            self._log_update(plan)
            await self._context.reporter.flush()
        context = self._context
        context.notifier.status(f"applying {plan.new.name}")
        context.memory.verified = None
        context.memory.performing = plan.new.name
        performer = self._performer()
        act = performer.resume if step.resumed else performer.begin
        try:
            if plan.changes.forced and not step.resumed:
                await context.worker(context.host.root.remove, names.FORCE_FILE)
            await context.worker(act, plan, context.configs.raw[plan.new.name])
        except Interrupted:
            return
        finally:
            context.memory.performing = ""
        announce.applied(context.reporter, context.name, plan, seen)

    async def undo(self, step: steps.Undo) -> None:
        """Raises UndoFailed; the journal then keeps what is left."""
        context = self._context
        _log.info("undoing an update", back_to=step.config, because=step.because)
        context.notifier.status(f"going back to {step.config}")
        context.memory.verified = None
        await context.worker(self._performer().undo, step.because, reboot=step.reboot)

    async def reboot(self, step: steps.Reboot, disk: Disk) -> None:
        """Raises HostError when the machine refuses; the update is then undone."""
        context = self._context
        announce.reboot(context.reporter, step.config)
        try:
            await context.reporter.flush()
        except MCOError as error:
            # The update is on the disk; an API server that is away must not keep the machine from taking it.
            _log.warning("reboot not announced", error=str(error))
        context.memory.verified = None
        context.notifier.status(f"rebooting into {step.config}")
        _log.info("rebooting", config=step.config, boot_id=disk.boot_id, because=step.because)
        try:
            await context.worker(self._performer().reboot, step.config)
        except MCOError as error:
            context.metrics.reboot_failed()
            await context.worker(self._performer().undo, f"the reboot failed: {error}", reboot=False)
            raise
        context.memory.reboot_at = context.clock.monotonic()
        self.reboot_queued.set()

    async def close(self) -> None:
        await self._context.worker(self._performer().close)

    async def record(self, step: steps.Record) -> None:
        await self._context.worker(self._write_record, self._context.configs.raw.get(step.config))

    def _write_record(self, raw: bytes | None) -> None:
        """The node has joined: its note is the cluster's whole config, and the served annotations are
        used."""
        root = self._context.host.root
        if raw is not None:
            root.write(names.CURRENT_CONFIG_FILE, raw, mode=0o600)
        initial = root.read_optional(names.NODE_ANNOTATIONS_FILE)
        if initial is not None:
            root.write(f"{names.NODE_ANNOTATIONS_FILE.removesuffix('s.json')}.json.bak", initial)
            root.remove(names.NODE_ANNOTATIONS_FILE)

    def _log_update(self, plan: steps.UpdatePlan) -> None:
        _log.info("update", old=plan.old.name, new=plan.new.name, because=list(plan.disruption.because))

    def _performer(self) -> Performer:
        context = self._context
        return Performer(context.host, context.journal, stop=self._must_stop, progress=self._progress)

    def _must_stop(self) -> bool:
        """Asked by the worker thread between two actions: the daemon stops, or another config is wanted."""
        context = self._context
        node, performing = context.reporter.node, context.memory.performing
        desired = view(node).desired if node is not None else ""
        return context.worker.stopping or bool(performing and desired and desired != performing)

    def _progress(self, post: PostAction, error: MCOError | None) -> None:
        self._loop.call_soon_threadsafe(self._report_post, post, str(error) if error else "")

    def _report_post(self, post: PostAction, failure: str) -> None:
        if event := texts.post_event(post, failure):
            self._context.reporter.event(*event)
        if not failure:
            self._context.reporter.step(texts.post_action(post))
