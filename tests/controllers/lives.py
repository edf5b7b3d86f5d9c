"""Every interleaving of what happens to rendered configs and to the machines that live by them.

The real controllers and the real config server on an API server; a machine is what its disk holds. The law:
whatever a machine needs, and a person wants kept, is there after the collector as it was before. It is
written here a second time, from what machines do, not from what the collector reads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Coroutine, Iterable
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

from mco.api import names, resources
from mco.api.machineconfig import MachineConfig
from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.base.errors import InvalidInput, MCOError
from mco.controllers.prune import ALL, Collection, PruneController
from mco.kube.errors import NotFoundError
from mco.plan.pool.prune import Decision, Facts, Limits
from mco.plan.pool.uses import Why
from tests.controllers.scene import HOUR, POOL, Scene

T = TypeVar("T")
K = TypeVar("K", bound=Object)
NEWEST = 1
LIMITS = Limits(newest=NEWEST)
DAY = 24 * HOUR
_TEXTS = "abcd"
_HOURS = (0.2, 0.9, 1.1, 12, 23.9, 25)
"""On both sides of what the limits are."""

Event = tuple[str, int]
"""What happens, and a number for whatever there is to choose."""

_USUAL = ("release", "live", "age")
_OTHERS = (
    *("boot", "ask", "advance", "collect", "edit", "render", "roll", "pin", "build", "time", "crash"),
    *("lose_the_target", "fall_silent", "undo", "lose_the_report", "lose_the_node", "leave"),
)
_LENGTH = 40
_MACHINES = 3
"""At the same time: with more of them, less happens to each."""


def history(random: Random, length: int = _LENGTH) -> tuple[Event, ...]:
    """A life with habits: some things happen often in it, some never. What takes five unlikely things in a
    row would take for ever otherwise."""
    habits = {event: random.randint(1, 4) for event in _USUAL}
    habits |= {event: random.choice((0, 0, 1, 3)) for event in _OTHERS}
    events = random.choices(list(habits), list(habits.values()), k=length)
    return tuple((event, random.randrange(64)) for event in events)


class Machine:
    """`current` and `pending` are on its disk; `served` is when it was served what it boots with."""

    def __init__(self, name: str, current: str, served: float) -> None:
        self.name = name
        self.current = current
        self.pending = ""
        self.served = served
        self.joined = False

    def needs(self, now: float) -> set[str]:
        if not self.joined:
            return {self.current} if now - self.served < DAY else set()
        return {self.current, self.pending} - {""}


class Watched(PruneController):
    """`decisions` are those of the last pass: on what it knew, and on what it saw when it looked again."""

    async def reconcile(self, key: str) -> float | None:
        self.decisions: list[Decision] = []
        return await super().reconcile(key)

    def _decide(self, facts: Facts) -> Decision:
        self.decisions.append(super()._decide(facts))
        return self.decisions[-1]


class Life:
    """In a world that other lives were in before; nothing of them is left. `near` has, for each reason that
    kept something needed, how many others did at the least, and after how many events."""

    def __init__(self, world: Scene, loop: asyncio.Runner, collector: type[Watched] = Watched) -> None:
        self.world = world
        self.steps: Counter[str] = Counter()
        self.near: dict[Why, tuple[int, int]] = {}
        self._loop = loop
        self.machines: list[Machine] = []
        self.born = self.text = self.events = 0
        self._run(self._cleared())
        world.collector = collector
        world.collection = Collection(enabled=True, limits=LIMITS, rate=1e6)
        world.restart()
        self._run(world.input("a"))
        self._run(world.rendered())
        world.clock.seconds += 60

    def live_through(self, history: Iterable[Event]) -> None:
        """Raises AssertionError when something is collected that should not be."""
        for event, n in history:
            self.steps[event] += 1
            self.events += 1
            getattr(self, event)(n)

    @property
    def collector(self) -> Watched:
        assert isinstance(self.world.prune, Watched)
        return self.world.prune

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    def _try(self, work: Coroutine[Any, Any, Any]) -> None:
        """A pass that fails is made again later, as a reconciler would."""

        async def tried() -> None:
            with contextlib.suppress(MCOError):
                await work

        self._run(tried())

    async def _cleared(self) -> None:
        client = self.world.client
        for map_ in (names.IN_USE_MAP, names.SERVED_MAP):
            with contextlib.suppress(NotFoundError):
                await client.delete(resources.CONFIG_MAPS, map_, namespace=names.NAMESPACE)
        await self._removed(resources.NODES)
        await self._removed(resources.MACHINE_CONFIG_NODES)
        await self._removed(resources.MACHINE_OS_BUILDS)
        await self._removed(resources.MACHINE_CONFIGS)
        body: dict[str, Any] = {"spec": {"configuration": None}}
        await client.patch(resources.MACHINE_CONFIG_POOLS, POOL, body)
        body = {"status": {"configuration": None}}
        await client.patch(resources.MACHINE_CONFIG_POOLS, POOL, body, subresource="status")

    async def _removed(self, resource: Resource[K]) -> None:
        """Past the guard, which may take a moment to hear that nothing is in use any more."""
        while found := (await self.world.client.list(resource)).items:
            for obj in found:
                with contextlib.suppress(InvalidInput):
                    await self.world.client.delete(resource, obj.name)

    # People and controllers

    def edit(self, n: int) -> None:
        self.text += 1 + n % 3
        self._run(self.world.input(_TEXTS[self.text % 4]))

    def render(self, n: int) -> None:
        """With caches that are up to date, or not."""
        if n % 2:
            self._run(self.world.look())
        self._try(self.world.render.reconcile(POOL))

    def roll(self, n: int) -> None:
        if n % 2:
            self._run(self.world.look())
        self._try(self.world.node.reconcile(POOL))

    def advance(self, n: int) -> None:
        """There is a new target, and no node was told yet."""
        self.edit(n)
        self.render(1)
        self.time(n // 4)

    def release(self, n: int) -> None:
        """What usually happens in a row."""
        self.edit(n)
        self.render(1)
        self.roll(1)
        self.time(n // 4)

    def pin(self, n: int) -> None:
        """Somebody wants one config kept, and no other."""
        pinned = self._config(n)
        for config in self._run(self.world.configs()):
            self._run(self.world.annotate(config, keep="" if config == pinned else None))

    def build(self, n: int) -> None:
        """An image of one config is built, and of no other."""
        built = self._config(n)
        self._run(self._removed(resources.MACHINE_OS_BUILDS))
        if built:
            self._run(self.world.build("build-1", built))

    def time(self, n: int) -> None:
        """The config server renews its marks meanwhile."""
        self.world.clock.seconds += _HOURS[n % len(_HOURS)] * HOUR
        self._run(self.world.renewed())

    def crash(self, _: int) -> None:
        self.world.restart()
        self._run(self.world.look())

    def age(self, _: int) -> None:
        """The config server starts anew and no longer marks what it served; then more than a day passes."""
        self.crash(0)
        self.time(len(_HOURS) - 1)
        self.collect(1)

    def lose_the_target(self, _: int) -> None:
        """Somebody deletes it past the guard: it is back when that is noticed."""
        world = self.world
        self.render(1)
        self._run(world.look())
        target = self._run(world.target())
        before = self._run(world.client.get(resources.MACHINE_CONFIGS, target))
        self._run(world.annotate(target, allow_deletion=""))
        self._run(world.delete(target))
        self._run(world.look())
        after = self._run(world.client.get(resources.MACHINE_CONFIGS, target))
        assert bytes(after.spec.config) == bytes(before.spec.config), f"{target} is another one"

    # Machines

    def boot(self, n: int) -> None:
        """A machine joins as soon as it was served."""
        self.ask(n)
        if not self.machines[-1].joined:
            self._join(self.machines[-1])

    def ask(self, n: int) -> None:
        """A machine is served what it shall become, and joins some time."""
        if len(self.machines) == _MACHINES:
            self.live(n)
            return
        self.born += 1
        config = self._run(self.world.served())
        self.machines.append(Machine(f"m{self.born}", config, self.world.clock.seconds))

    def live(self, n: int) -> None:
        """A machine does what comes next for it, and perhaps what comes after that."""
        if machine := self._one(n, joined=None):
            for _ in range(1 + n // 8 % 3):
                self._go_on(machine, tells=True)

    def fall_silent(self, n: int) -> None:
        """It does, and ends before its Node says so."""
        if machine := self._one(n, joined=None):
            self._go_on(machine, tells=False)

    def _go_on(self, machine: Machine, *, tells: bool) -> None:
        if not machine.joined:
            self._join(machine)
        elif not self._said(machine):
            self._run(self.world.says(machine.name, current=machine.current, state=names.STATE_DONE))
        elif not machine.pending:
            self._obey(machine)
        else:
            self._finish(machine, tells=tells)

    def _one(self, n: int, *, joined: bool | None = True) -> Machine | None:
        found = [machine for machine in self.machines if joined in (None, machine.joined)]
        return found[n % len(found)] if found else None

    def _join(self, machine: Machine) -> None:
        self.steps["join"] += 1
        machine.joined = True
        self._run(self.world.register(machine.name, machine.current))
        self._run(self.world.reports(machine.name, current=machine.current, desired=machine.current))

    def _obey(self, machine: Machine) -> None:
        """Its daemon begins what the Node is told."""
        told = self._run(self.world.told(machine.name))
        if told in ("", machine.current):
            return
        self.steps["obey"] += 1
        assert self._run(self.world.exists(told)), f"{machine.name} is told to become {told}, which is gone"
        machine.pending = told
        self._run(self.world.reports(machine.name, current=machine.current, desired=told))

    def _finish(self, machine: Machine, *, tells: bool) -> None:
        self.steps["finish"] += 1
        machine.current, machine.pending = machine.pending, ""
        self._run(self.world.reports(machine.name, current=machine.current, desired=machine.current))
        if tells:
            self._run(self.world.says(machine.name, current=machine.current, state=names.STATE_DONE))

    def undo(self, n: int) -> None:
        machine = self._one(n)
        if machine and machine.pending and self._said(machine):
            self.steps["undone"] += 1
            machine.pending = ""
            self._run(self.world.says(machine.name, state=names.STATE_DEGRADED))

    def _said(self, machine: Machine) -> str:
        """What the Node says that the machine has; nothing for one that was made anew."""
        node = self._run(self.world.client.get(resources.NODES, machine.name))
        return node.metadata.annotation(names.CURRENT_CONFIG) or ""

    def lose_the_report(self, n: int) -> None:
        """Until the next step there is no MachineConfigNode; the Node knows the same."""
        machine = self._one(n)
        if machine and self._said(machine) == machine.current and not machine.pending:
            self.steps["report lost"] += 1
            self._run(self.world.unreported(machine.name))

    def lose_the_node(self, n: int) -> None:
        """The Node is deleted and made anew, and knows nothing; the report is still there."""
        machine = self._one(n)
        if machine and self._run(self.world.reported(machine.name)):
            self.steps["node lost"] += 1
            self._run(self.world.client.delete(resources.NODES, machine.name))
            self._run(self.world.register(machine.name))

    def leave(self, n: int) -> None:
        if machine := self._one(n):
            self.machines.remove(machine)
            self._run(self.world.client.delete(resources.NODES, machine.name))
            self._run(self.world.unreported(machine.name))

    # The law

    def collect(self, n: int) -> None:
        needed, before = self._run(self._needed()), self._run(self.world.configs())
        kept = self._wanted(before)
        if n % 4:
            self._run(self.world.look())
            self._run(self.world.prune.reconcile(ALL))
            self._note({name for name in {**kept, **needed} if name in before}, self.collector.decisions)
            self._run(self.world.pruned())
        else:
            self._try(self.world.prune.reconcile(ALL))
        after = self._run(self.world.configs())
        # One that was collected and made again was collected all the same.
        lost = {
            name: why
            for name, why in {**kept, **needed}.items()
            if name in before and (name not in after or after[name].metadata.uid != before[name].metadata.uid)
        }
        assert not lost, f"collected: {lost}"
        self.steps["collected"] += len(before.keys() - after.keys())

    def _note(self, needed: set[str], decisions: list[Decision]) -> None:
        for name in needed:
            reasons = {why for found in decisions for why in found.reasons.get(name, ())}
            for why in reasons:
                close = (len(reasons) - 1, self.events)
                self.near[why] = min(self.near.get(why, close), close)

    async def _needed(self) -> dict[str, str]:
        client, found = self.world.client, {}
        pool = await client.get(resources.MACHINE_CONFIG_POOLS, POOL)
        found[pool.spec.configuration.name] = "the pool's target"
        found[pool.status.configuration.name] = "what the pool had"
        for build in (await client.list(resources.MACHINE_OS_BUILDS)).items:
            found[build.spec.machine_config.name] = f"{build.name} is made of it"
        for machine in self.machines:
            found |= dict.fromkeys(machine.needs(self.world.clock.seconds), f"{machine.name} lives by it")
            if machine.joined:
                found[await self.world.told(machine.name)] = f"{machine.name} is told to go there"
        for config in (await client.list(resources.MACHINE_CONFIGS)).items:
            if names.KEEP in (config.metadata.annotations or {}):
                found[config.name] = "somebody pinned it"
        return found

    def _wanted(self, before: dict[str, MachineConfig]) -> dict[str, str]:
        now = self.world.clock.now()
        made = {name: config.metadata.creation_timestamp or "" for name, config in before.items()}
        young = [n for n, at in made.items() if now - datetime.fromisoformat(at) < timedelta(hours=1)]
        newest = sorted(made, key=lambda name: (made[name], name))[-NEWEST:]
        return dict.fromkeys(young, "it is young") | dict.fromkeys(newest, "it is one of the newest")

    def _config(self, which: int) -> str:
        """One of the configs, or none."""
        found = ["", *sorted(self._run(self.world.configs()))]
        return found[which % len(found)]
