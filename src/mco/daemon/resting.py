"""The steps of a node that has what it shall have, or cannot get it: settle, finish, refuse, degrade."""

from __future__ import annotations

from collections.abc import Callable

from mco.api import names
from mco.api.machineconfignode import CONFIG_UNKNOWN, UNITS_FAILED
from mco.api.meta import conditions as cond
from mco.base.errors import MCOError
from mco.daemon import announce, observe, texts
from mco.daemon.context import Context
from mco.daemon.report import Reporter
from mco.plan.node import steps
from mco.plan.node.observation import Observation
from mco.runtime.logging import Logger
from mco.runtime.memory import give_back

_log = Logger("mco.daemon.rest")

Failure = Callable[[Reporter, str, str, str], None]


class Resting:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def wait(self, step: steps.Wait, seen: Observation) -> None:
        announce.rebooted(self._context.reporter, seen)
        await self._context.reporter.flush()
        await self._context.pause.wait(step.seconds, step.because)

    async def settle(self, step: steps.Settle, seen: Observation) -> None:
        context = self._context
        context.memory.started = True
        context.pause.succeeded()
        units = await self._units(step.config, seen)
        failed = await context.worker(observe.failed_units, context.host, units) if units else ()
        announce.rebooted(self._context.reporter, seen)
        context.reporter.step(texts.updated(context.name))
        # After `Updated`, which takes every other condition back.
        self._report_units(failed)
        if self._reported(CONFIG_UNKNOWN):
            context.reporter.step(texts.nothing_differs(step.config))
        await context.reporter.flush()
        await context.pause.wait(context.settings.units_check if units else None, f"on {step.config}")

    async def ask_for_uncordon(self, step: steps.AskForUncordon, seen: Observation) -> None:
        reporter = self._context.reporter
        announce.uncordon_request(reporter, step, seen)
        await reporter.flush()

    async def finish(self, step: steps.Finish, seen: Observation) -> None:
        context = self._context
        announce.rebooted(self._context.reporter, seen)
        announce.finish(context.reporter, context.name, step.config)
        await context.reporter.flush()
        context.pause.succeeded()
        _log.info("done", config=step.config)

    async def refuse(self, step: steps.Refuse) -> None:
        self._context.reporter.event_once("Warning", "FailedToReconcile", step.text)
        await self._report_failure(names.STATE_UNRECONCILABLE, step.text, announce.refusal)

    async def degrade(self, step: steps.Degrade) -> None:
        if step.event:
            self._context.reporter.event_once("Warning", step.event, step.text)
        said = announce.failure if step.prepared else announce.refusal
        await self._report_failure(names.STATE_DEGRADED, step.text, said)

    async def degrade_for(self, error: MCOError) -> None:
        """Path and remedy belong to the reason: nobody else prints them."""
        text = str(error)
        if error.path and error.path not in text:
            text = f"{error.path}: {text}"
        if error.hint:
            text = f"{text} ({error.hint})"
        await self.degrade(steps.Degrade(text=text, because=type(error).__name__))

    async def _report_failure(self, state: str, text: str, announced: Failure) -> None:
        context = self._context
        _log.error("node cannot proceed", state=state, reason=text)
        announced(context.reporter, context.name, state, text)
        try:
            await context.reporter.flush()
        except MCOError as error:
            _log.warning("failure not reported yet", error=str(error))
        await context.pause.after_failure(f"{state}: {text}")
        context.memory.look_anew()
        context.configs.retry()

    async def _units(self, config: str, seen: Observation) -> tuple[str, ...]:
        """Names of the units that an idle node looks after. Everything else about the config is let go of."""
        context = self._context
        arrived = context.memory.idle is None or context.memory.idle[0] != config
        if arrived:
            if config not in context.configs.found:
                await context.fetch(config, joining=seen.disk.initial is not None)
            units = observe.enabled_units(context.target(config)) if config in context.configs.found else ()
            context.memory.idle = (config, units)
            await context.worker(context.configs.prune, [config])
        context.configs.forget()
        context.memory.look_anew()
        if arrived:
            give_back()
        return context.memory.idle[1] if context.memory.idle else ()

    def _report_units(self, failed: tuple[str, ...]) -> None:
        reporter = self._context.reporter
        if failed or self._reported(UNITS_FAILED):
            reporter.step(texts.units_failed(failed))
        for unit in failed:
            reporter.event_once("Warning", "UnitFailed", f"Unit {unit} of the config failed to start")

    def _reported(self, type_: str) -> bool:
        mcn = self._context.reporter.mcn
        return mcn is not None and cond.find(mcn.status.conditions, type_) is not None
