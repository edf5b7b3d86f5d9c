"""The node's loop: observe, decide in `plan/node/step`, take the one step, report (design.md 4).

Nothing is remembered between passes that the cluster or the disk does not know, except what was verified
and how long something has been waited for. A pass is made at once after a step, and otherwise when
something that decides changes; failures are tried again after 1 to 60 seconds, or at once when the cluster
asks for something else.
"""

from __future__ import annotations

import asyncio
from typing import assert_never

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfiguration import DisruptionPolicies
from mco.api.meta import conditions as cond
from mco.api.resources import MACHINE_CONFIG_NODES, MACHINE_CONFIGURATIONS, NODES
from mco.base.errors import MCOError, Unavailable
from mco.daemon import observe, texts
from mco.daemon.configs import Configs
from mco.daemon.notify import Notifier
from mco.daemon.perform import Interrupted, Performer
from mco.daemon.registration import READY, Registration
from mco.daemon.report import Reporter
from mco.daemon.worker import Worker
from mco.host.journal import Journal
from mco.host.machine import Host
from mco.kube.backoff import Backoff
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.events import EventSink
from mco.kube.informer import Informer
from mco.plan.node import steps
from mco.plan.node.disruption import PostAction
from mco.plan.node.observation import Annotations, Disk, Observation, Verified, view
from mco.plan.node.step import SINGLE_REPLICA, next_step
from mco.plan.node.target import EMPTY, EMPTY_NAME, Target, target
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.agent")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """In seconds. `reboot_patience`: how long a reboot may take to happen before it is asked for again;
    `units_check`: how often an idle node looks whether the units of its config still run."""

    first_retry: float = 1.0
    longest_retry: float = 60.0
    policies_retry: float = 1.0
    reboot_patience: float = 600.0
    units_check: float = 30.0


class Agent:
    """`run` ends only by being cancelled; `reboot_queued` is set once the machine was asked to reboot."""

    def __init__(
        self,
        host: Host,
        client: Client,
        name: str,
        events: EventSink,
        *,
        clock: Clock,
        worker: Worker,
        settings: Settings | None = None,
        notifier: Notifier | None = None,
    ) -> None:
        self._host = host
        self._client = client
        self._name = name
        self._clock = clock
        self._worker = worker
        self._settings = settings or Settings()
        self._notifier = notifier or Notifier({})
        self._reporter = Reporter(client, events, clock)
        self._configs = Configs(host.root)
        self._journal = Journal(host.root)
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._backoff = Backoff(first=self._settings.first_retry, longest=self._settings.longest_retry)
        self._verified: Verified | None = None
        self._policies: DisruptionPolicies | None = None
        self._waiting: tuple[str, float] = ("", 0.0)
        self._policies_since: float | None = None
        self._reboot_at: float | None = None
        self._performing = ""
        self._started = False
        self._idle: Target | None = None
        self._registration: Registration | None = None
        self._ready_task: asyncio.Task[None] | None = None
        self.reboot_queued = asyncio.Event()
        selector = f"metadata.name={name}"
        self._nodes = Informer(client, NODES, field_selector=selector)
        self._mcns = Informer(client, MACHINE_CONFIG_NODES, field_selector=selector)
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
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            self._journal.close()

    @property
    def reporter(self) -> Reporter:
        return self._reporter

    def keep_ready(self, registration: Registration) -> None:
        """Let it know of every change of the Node's readiness."""
        self._registration = registration
        if self._reporter.node is not None:
            self._check_ready(self._reporter.node)

    def _check_ready(self, node: Node) -> None:
        registration = self._registration
        if registration is None or cond.is_true(node.status.conditions, READY):
            return
        if self._ready_task is None or self._ready_task.done():
            self._ready_task = asyncio.create_task(registration.report_ready(node))

    # Observing

    def _node_changed(self, _: Node | None, new: Node | None) -> None:
        before = self._decisive()
        if self._reporter.saw_node(new) and self._decisive() != before:
            self._backoff.reset()
            self._wake.set()
        if new is not None:
            self._check_ready(new)

    def _mcn_changed(self, _: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        appeared = self._reporter.mcn is None and new is not None
        if self._reporter.saw_mcn(new) and appeared:
            self._wake.set()

    def _decisive(self) -> object:
        """What of the Node makes another pass worthwhile: not what this daemon itself reports."""
        node = self._reporter.node
        if node is None:
            return None
        seen = view(node)
        return (node.metadata.uid, seen.desired, seen.desired_drain, seen.last_applied_drain, seen.topology)

    async def _observe(self, node: Node) -> Observation:
        annotations = view(node)
        disk = await self._worker(observe.disk, self._host, self._journal)
        now = self._clock.monotonic()
        if self._reboot_at is not None and now - self._reboot_at > self._settings.reboot_patience:
            self._reboot_at = None
        return Observation(
            node=annotations,
            disk=disk,
            configs=self._configs.found,
            missing=self._configs.missing,
            policies=self._policies,
            verified=self._verified,
            started=self._started,
            reboot_requested=self._reboot_at is not None,
            waited=self._waited(annotations),
            policies_waited=now - self._policies_since if self._policies_since is not None else 0.0,
        )

    def _waited(self, annotations: Annotations) -> float:
        request = annotations.desired_drain if annotations.drain_pending else ""
        if self._waiting[0] != request:
            self._waiting = (request, self._clock.monotonic())
        return self._clock.monotonic() - self._waiting[1] if request else 0.0

    # Deciding and taking

    async def _pass(self) -> None:
        """One step. Whatever goes wrong in it is reported and tried again."""
        self._wake.clear()
        node = self._reporter.node
        if node is None:
            await self._sleep(None, "waiting for the Node object")
            return
        try:
            seen = await self._observe(node)
            step = next_step(seen)
            _log.debug("next step", step=type(step).__name__, because=step.because)
            await self._take(step, seen)
        except Unavailable as error:
            # The cluster cannot hear of it now, and it is no fault of this node.
            await self._sleep(self._backoff.next(), f"trying again: {error}")
            self._configs.retry()
        except MCOError as error:
            await self._degrade(steps.Degrade(text=_text(error), because=type(error).__name__))

    async def _take(self, step: steps.AnyStep, seen: Observation) -> None:
        match step:
            case steps.Initialise(annotations=annotations):
                self._reporter.annotate(annotations)
                await self._reporter.flush()
            case steps.Fetch(configs=wanted):
                for name in wanted:
                    await self._fetch(name, joining=seen.disk.initial is not None)
            case steps.FetchPolicies():
                await self._fetch_policies()
            case steps.Verify():
                await self._verify(step)
            case steps.Wait():
                await self._wait(step, seen)
            case steps.Settle():
                await self._settle(step, seen)
            case steps.AskForDrain():
                await self._ask_for_drain(step, seen)
            case steps.Begin():
                await self._begin(step, seen)
            case steps.Undo():
                await self._undo(step)
            case steps.Reboot():
                await self._reboot(step, seen.disk)
            case steps.Close():
                await self._worker(self._performer().close)
            case steps.Record():
                await self._record(step)
            case steps.AskForUncordon():
                await self._ask_for_uncordon(step, seen)
            case steps.Finish():
                await self._finish(step, seen)
            case steps.Refuse():
                await self._refuse(step)
            case steps.Degrade():
                await self._degrade(step)
            case _:
                assert_never(step)

    async def _fetch(self, name: str, *, joining: bool) -> None:
        answer = await self._configs.download(self._client, name)
        await self._worker(self._configs.keep, name, answer, joining=joining)

    async def _fetch_policies(self) -> None:
        """The policies count only when they are computed from the present spec (spec/daemon.md 6.6)."""
        if self._policies_since is None:
            self._policies_since = self._clock.monotonic()
        try:
            found = await self._client.get(MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION)
        except NotFoundError:
            found = None
        if found is not None and found.metadata.generation == found.status.observed_generation:
            self._policies = found.status.node_disruption_policy_status.cluster_policies
            self._policies_since = None
            return
        await self._sleep(self._settings.policies_retry, "waiting for the node disruption policies")

    async def _verify(self, step: steps.Verify) -> None:
        before = self._target(step.before) if step.before else None
        side = self._target(step.config)
        if side is None:
            raise MCOError(f"{step.config} is not there to compare the machine with")
        self._verified = await self._worker(observe.verify, self._host, side, before)
        for found in self._verified.findings:
            _log.warning("the machine differs from its config", config=side.name, finding=found.message)

    def _target(self, name: str) -> Target | None:
        if name == EMPTY_NAME:
            return EMPTY
        found = self._configs.found.get(name)
        return target(found) if found is not None else None

    async def _wait(self, step: steps.Wait, seen: Observation) -> None:
        if self._reboot_at is not None:
            left = self._reboot_at + self._settings.reboot_patience - self._clock.monotonic()
            await self._sleep(max(left, 0.0) + 0.1, step.because, wakes=False)
            return
        await self._flush_boot(seen)
        await self._sleep(step.seconds, step.because)

    async def _settle(self, step: steps.Settle, seen: Observation) -> None:
        self._started = True
        self._backoff.reset()
        side = await self._side(step.config, seen)
        failed = await self._worker(observe.failed_units, self._host, side) if side else ()
        self._report_units(failed, side)
        self._report_boot(seen)
        self._reporter.step(texts.updated(self._name))
        await self._reporter.flush()
        await self._sleep(self._settings.units_check if side else None, f"on {step.config}")

    async def _side(self, config: str, seen: Observation) -> Target | None:
        """The config whose units an idle node looks after; only those that enable units are worth keeping."""
        if config not in self._configs.found and config not in self._configs.missing:
            if self._idle is not None and self._idle.name == config:
                return self._idle if self._watched(self._idle) else None
            await self._fetch(config, joining=seen.disk.initial is not None)
        self._idle = self._target(config)
        self._configs.forget()
        self._verified = None
        self._policies = None
        if self._idle is not None:
            await self._worker(self._configs.prune, [config])
        return self._idle if self._idle and self._watched(self._idle) else None

    @staticmethod
    def _watched(side: Target) -> bool:
        return any(unit.enabled and not unit.mask for unit in side.config.systemd.units)

    def _report_units(self, failed: tuple[str, ...], side: Target | None) -> None:
        mcn = self._reporter.mcn
        known = mcn is not None and any(c.type == texts.UNITS_FAILED for c in mcn.status.conditions)
        if failed or (known and side is not None):
            self._reporter.step(texts.units_failed(failed))
        for unit in failed:
            self._reporter.event_once("Warning", "UnitFailed", f"Unit {unit} of the config failed to start")

    def _report_boot(self, seen: Observation) -> None:
        """The first report after a reboot (spec/daemon.md 4.1, 4)."""
        over = self._reboot_at is None and seen.disk.transaction is None
        if seen.node.post_config_action == names.REBOOTING and over:
            self._reporter.annotate({names.POST_CONFIG_ACTION: ""})
            self._reporter.step(texts.rebooted())

    async def _flush_boot(self, seen: Observation) -> None:
        self._report_boot(seen)
        await self._reporter.flush()

    # Updating

    def _report_update(self, plan: steps.UpdatePlan, seen: Observation) -> None:
        """The beginning of an update, said once however many passes it takes."""
        if not seen.node.failing:
            self._reporter.annotate({names.STATE: names.STATE_WORKING})
        if seen.started:
            self._reporter.step(texts.needs_update(self._name))
        else:
            self._reporter.event_once(
                "Normal",
                "BootResync",
                f"Booting node {self._name}, currentConfig {plan.old.name}, desiredConfig {plan.new.name}",
            )
        self._reporter.step(texts.prepared(plan.disruption.drain))
        _log.info("update", old=plan.old.name, new=plan.new.name, because=list(plan.disruption.because))

    async def _ask_for_drain(self, step: steps.AskForDrain, seen: Observation) -> None:
        self._report_update(step.update, seen)
        self._reporter.annotate({names.DESIRED_DRAIN: step.request})
        self._reporter.event("Normal", "Cordon", "Cordoned node to apply update")
        self._reporter.event("Normal", "Drain", "Draining node to update config.")
        await self._reporter.flush()

    async def _begin(self, step: steps.Begin, seen: Observation) -> None:
        plan = step.update
        drained = seen.node.last_applied_drain == f"drain-{plan.new.name}"
        if not drained and not step.resumed:
            self._report_update(plan, seen)
            self._reporter.step(texts.no_drain())
            if plan.disruption.drain and seen.node.topology == SINGLE_REPLICA:
                self._reporter.event("Normal", "Drain", "Drain not required, skipping")
            await self._reporter.flush()
        self._notifier.status(f"applying {plan.new.name}")
        self._verified = None
        self._performing = plan.new.name
        performer = self._performer()
        act = performer.resume if step.resumed else performer.begin
        try:
            if plan.changes.forced and not step.resumed:
                await self._worker(self._host.root.remove, names.FORCE_FILE)
            await self._worker(act, plan, self._configs.raw[plan.new.name])
        except Interrupted:
            return
        finally:
            self._performing = ""
        self._reporter.step(texts.applied(plan.changes))

    def _performer(self) -> Performer:
        return Performer(self._host, self._journal, stop=self._must_stop, progress=self._progress)

    def _must_stop(self) -> bool:
        """Asked by the worker thread between two actions."""
        node = self._reporter.node
        desired = view(node).desired if node is not None else ""
        return self._worker.stopping or bool(self._performing and desired and desired != self._performing)

    def _progress(self, post: PostAction, error: MCOError | None) -> None:
        self._loop.call_soon_threadsafe(self._report_post, post, str(error) if error else "")

    def _report_post(self, post: PostAction, failure: str) -> None:
        if event := texts.post_event(post, failure):
            self._reporter.event(*event)
        if not failure:
            self._reporter.step(texts.post_action(post))

    async def _undo(self, step: steps.Undo) -> None:
        _log.info("undoing an update", back_to=step.config, because=step.because)
        self._notifier.status(f"going back to {step.config}")
        self._verified = None
        performer = self._performer()
        await self._worker(performer.undo, step.because, reboot=step.reboot)

    async def _reboot(self, step: steps.Reboot, disk: Disk) -> None:
        self._reporter.annotate({names.POST_CONFIG_ACTION: names.REBOOTING})
        self._reporter.step(texts.reboot_needed())
        self._reporter.event("Normal", "Reboot", f"Node will reboot into config {step.config}")
        try:
            await self._reporter.flush()
        except MCOError as error:
            # The update is on the disk; an API server that is away must not keep the machine from taking it.
            _log.warning("reboot not announced", error=str(error))
        self._verified = None
        self._notifier.status(f"rebooting into {step.config}")
        _log.info("rebooting", config=step.config, boot_id=disk.boot_id, because=step.because)
        try:
            await self._worker(self._performer().reboot, step.config)
        except MCOError as error:
            await self._worker(self._performer().undo, f"the reboot failed: {error}", reboot=False)
            raise
        self._reboot_at = self._clock.monotonic()
        self.reboot_queued.set()

    async def _record(self, step: steps.Record) -> None:
        raw = self._configs.raw.get(step.config)
        await self._worker(self._write_record, raw)

    def _write_record(self, raw: bytes | None) -> None:
        root = self._host.root
        if raw is not None:
            root.write(names.CURRENT_CONFIG_FILE, raw, mode=0o600)
        initial = root.read_optional(names.NODE_ANNOTATIONS_FILE)
        if initial is not None:
            root.write(f"{names.NODE_ANNOTATIONS_FILE.removesuffix('s.json')}.json.bak", initial)
            root.remove(names.NODE_ANNOTATIONS_FILE)

    async def _ask_for_uncordon(self, step: steps.AskForUncordon, seen: Observation) -> None:
        self._report_boot(seen)
        self._reporter.annotate({names.DESIRED_DRAIN: step.request})
        self._reporter.step(texts.resumed(step.config))
        self._reporter.event("Normal", "Uncordon", "Update completed, uncordoning node")
        await self._reporter.flush()

    async def _finish(self, step: steps.Finish, seen: Observation) -> None:
        self._report_boot(seen)
        self._reporter.annotate(
            {
                names.CURRENT_CONFIG: step.config,
                names.STATE: names.STATE_DONE,
                names.REASON: "",
            }
        )
        self._reporter.step(texts.success(self._name))
        self._reporter.step(texts.updated(self._name))
        self._reporter.event(
            "Normal", "NodeDone", f"Setting node {self._name}, currentConfig {step.config} to Done"
        )
        await self._reporter.flush()
        self._backoff.reset()
        _log.info("done", config=step.config)

    # Failing

    async def _refuse(self, step: steps.Refuse) -> None:
        self._reporter.step(texts.refused(step.text))
        self._reporter.event_once("Warning", "FailedToReconcile", step.text)
        await self._report_failure(names.STATE_UNRECONCILABLE, step.text)

    async def _degrade(self, step: steps.Degrade) -> None:
        if step.event:
            self._reporter.event_once("Warning", step.event, step.text)
        await self._report_failure(names.STATE_DEGRADED, step.text)

    async def _report_failure(self, state: str, text: str) -> None:
        _log.error("node cannot proceed", state=state, reason=text)
        self._reporter.annotate({names.STATE: state, names.REASON: texts.cut(text)})
        self._reporter.step(texts.failure(self._name, text))
        try:
            await self._reporter.flush()
        except MCOError as error:
            _log.warning("failure not reported yet", error=str(error))
        await self._sleep(self._backoff.next(), f"{state}: {text}")
        # Whatever the decision rested on is looked at anew.
        self._verified = None
        self._policies = None
        self._policies_since = None
        self._configs.retry()

    async def _sleep(self, seconds: float | None, status: str, *, wakes: bool = True) -> None:
        """Until something decisive changes, or `seconds` have passed."""
        self._notifier.status(status)
        if not wakes:
            await self._clock.sleep(seconds or 0.0)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return


def _text(error: MCOError) -> str:
    """An error as the reason of a node: path and remedy belong to it, because nobody else prints them."""
    text = str(error)
    if error.path and error.path not in text:
        text = f"{error.path}: {text}"
    return f"{text} ({error.hint})" if error.hint else text
