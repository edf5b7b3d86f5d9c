"""Every interleaving of what happens to rendered configs and to the machines that live by them.

The real controllers and the real config server on the embedded store; a machine is what its disk holds. The
law: whatever a machine needs, and a person wants kept, is there after the collector as it was before. It is
written here a second time, from what machines do, not from what the collector reads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Coroutine, Iterable
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from mco.api import names, resources
from mco.api.machineconfig import MachineConfig
from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.base.errors import MCOError
from mco.controllers.prune import Collection, PruneController
from mco.kube.errors import NotFoundError
from mco.plan.pool.prune import Limits
from tests.controllers.scene import HOUR, POOL, Scene

T = TypeVar("T")
K = TypeVar("K", bound=Object)
NEWEST = 1
LIMITS = Limits(newest=NEWEST)
DAY = 24 * HOUR
_TEXTS = "abcd"
_HOURS = (0.2, 2, 12, 25)
_EVENTS = (
    *("edit", "render", "roll", "release", "release", "release", "want", "time", "crash", "lose_the_target"),
    *("boot", "boot", "live", "live", "live", "live", "collect", "collect", "collect"),
)


LOSES_NODE, LEAVES, LOSES_REPORT, UNDOES, CRASHES = 160, 168, 176, 184, 192
"""What happens to a machine; below, and beyond, it goes on: what is usual has to happen often."""
Event = tuple[str, int]


def release(text: int, *, rolls: bool = True, hours: int = 1) -> Event:
    """`hours` is an index."""
    return "release", text + (0 if rolls else 8) + 12 * hours


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


class Lives(RuleBasedStateMachine):
    """`world` and `loop_` are shared by all examples, `collector` is what is tested; `steps` counts."""

    world: Scene
    loop_: asyncio.Runner
    collector: type[PruneController] = PruneController
    steps: ClassVar[Counter[str]] = Counter()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop_.run(work)

    def _try(self, work: Coroutine[Any, Any, Any]) -> None:
        """A pass that fails is made again later, as a reconciler would."""

        async def tried() -> None:
            with contextlib.suppress(MCOError):
                await work

        self._run(tried())

    @initialize()
    def begin_life(self) -> None:
        self.steps["examples"] += 1
        self.machines: list[Machine] = []
        self.born = 0
        self._run(self._cleared())
        world = self.world
        world.collector = self.collector
        world.collection = Collection(enabled=True, limits=LIMITS, rate=1e6)
        world.restart()
        self._run(world.input("a"))
        self._run(world.rendered())
        world.clock.seconds += 60

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
        for obj in (await self.world.client.list(resource)).items:
            await self.world.client.delete(resource, obj.name)

    def teardown(self) -> None:
        """Long after everything, once more."""
        if hasattr(self, "machines"):
            self.collect(1)
            self.time(1)
            self.collect(1)

    @rule(event=st.sampled_from(_EVENTS), n=st.integers(0, 239))
    def happens(self, event: str, n: int) -> None:
        """One rule for all: rules are switched off in part of the examples, and these need each other. `n`
        is whatever the event has to choose."""
        self.steps[event] += 1
        getattr(self, event)(n)

    @classmethod
    def replay(cls, history: Iterable[Event]) -> None:
        """One life in which just this happens."""
        life = cls()
        life.begin_life()
        for event, n in history:
            life.happens(event=event, n=n)

    # People and controllers

    def edit(self, n: int) -> None:
        self._run(self.world.input(_TEXTS[n % 4]))

    def render(self, n: int) -> None:
        """With caches that are up to date, or not."""
        if n % 2:
            self._run(self.world.look())
        self._try(self.world.render.reconcile(POOL))

    def roll(self, n: int) -> None:
        if n % 2:
            self._run(self.world.look())
        self._try(self.world.node.reconcile(POOL))

    def release(self, n: int) -> None:
        """What usually happens in a row; the node controller may be late."""
        self.edit(n)
        self.render(1)
        if n // 4 % 3 < 2:
            self.roll(1)
        self.time(n // 12)

    def want(self, n: int) -> None:
        """Somebody wants one config kept, and an image of one is built; neither is said of any other."""
        pinned, built = self._config(n % 8), self._config(n // 8 % 8)
        for config in self._run(self.world.configs()):
            self._run(self.world.annotate(config, keep="" if config == pinned else None))
        self._run(self._removed(resources.MACHINE_OS_BUILDS))
        if built:
            self._run(self.world.build("build-1", built))

    def time(self, n: int) -> None:
        """The config server renews its marks meanwhile."""
        self.world.clock.seconds += _HOURS[n % 4] * HOUR
        self._run(self.world.renewed())

    def crash(self, _: int) -> None:
        self.world.restart()
        self._run(self.world.look())

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
        """A machine is served what it shall become, and joins when it is through with that."""
        self.born += 1
        try:
            config = self._run(self.world.served())
        except MCOError:
            return
        machine = Machine(f"m{self.born}", config, self.world.clock.seconds)
        self.machines.append(machine)
        if n % 2 == 0:
            self._join(machine)

    def live(self, n: int) -> None:
        """A machine does what comes next for it, or something happens to it instead."""
        if not self.machines:
            return
        machine, luck = self.machines[n % len(self.machines)], n // 8
        if not machine.joined:
            self._join(machine)
        elif luck == LOSES_NODE // 8:
            self._lose_the_node(machine)
        elif luck == LEAVES // 8:
            self._leave(machine)
        elif luck == LOSES_REPORT // 8:
            self._lose_the_report(machine)
        elif not self._said(machine):
            self._run(self.world.says(machine.name, current=machine.current, state=names.STATE_DONE))
        elif not machine.pending:
            self._obey(machine)
        elif luck == UNDOES // 8:
            self._undo(machine)
        else:
            self._finish(machine, crashes=luck == CRASHES // 8)

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

    def _finish(self, machine: Machine, *, crashes: bool) -> None:
        self.steps["finish"] += 1
        machine.current, machine.pending = machine.pending, ""
        self._run(self.world.reports(machine.name, current=machine.current, desired=machine.current))
        if not crashes:
            self._run(self.world.says(machine.name, current=machine.current, state=names.STATE_DONE))

    def _undo(self, machine: Machine) -> None:
        self.steps["undo"] += 1
        machine.pending = ""
        self._run(self.world.says(machine.name, state=names.STATE_DEGRADED))

    def _said(self, machine: Machine) -> str:
        """What the Node says that the machine has; nothing for one that was made anew."""
        node = self._run(self.world.client.get(resources.NODES, machine.name))
        return node.metadata.annotation(names.CURRENT_CONFIG) or ""

    def _lose_the_report(self, machine: Machine) -> None:
        """Until the next step there is no MachineConfigNode; the Node knows the same."""
        if self._said(machine) == machine.current and not machine.pending:
            self.steps["lose report"] += 1
            self._run(self.world.unreported(machine.name))

    def _lose_the_node(self, machine: Machine) -> None:
        """The Node is deleted and made anew, and knows nothing; the report is still there."""
        if not self._run(self.world.reported(machine.name)):
            return
        self.steps["lose node"] += 1
        self._run(self.world.client.delete(resources.NODES, machine.name))
        self._run(self.world.register(machine.name))

    def _leave(self, machine: Machine) -> None:
        self.machines.remove(machine)
        self._run(self.world.client.delete(resources.NODES, machine.name))
        self._run(self.world.unreported(machine.name))

    # The law

    def collect(self, n: int) -> None:
        needed, before = self._run(self._needed()), self._run(self.world.configs())
        kept = self._wanted(before)
        if n % 4:
            self._run(self.world.pruned())
        else:
            self._try(self.world.prune.reconcile(""))
        after = self._run(self.world.configs())
        # One that was collected and made again was collected all the same.
        lost = {
            name: why
            for name, why in {**kept, **needed}.items()
            if name in before and (name not in after or after[name].metadata.uid != before[name].metadata.uid)
        }
        assert not lost, f"collected: {lost}"
        self.steps["collected"] += len(before.keys() - after.keys())

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
        found = sorted(self._run(self.world.configs()))
        return found[which] if which < len(found) else ""
