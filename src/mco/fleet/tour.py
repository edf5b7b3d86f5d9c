"""The tour: examples rolled over real machines, and the proof that they arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.machineconfig import MachineConfig
from mco.base.errors import MCOError
from mco.fleet import evidence
from mco.fleet.apply import apply, read
from mco.fleet.evidence import Asked, Finding
from mco.fleet.hosts import Machine
from mco.fleet.patience import patiently
from mco.fleet.screen import Screen
from mco.fleet.view import FleetView
from mco.fleet.watch import Watch, all_updated
from mco.ignition import parse
from mco.ignition.merge import merge_all
from mco.kube.client import Client
from mco.pki import files

EXAMPLES = Path(__file__).parents[3] / "examples"


async def prepare(client: Client) -> list[str]:
    """What has to be there before the first machine boots."""
    return await apply(client, await asyncio.to_thread(read, EXAMPLES / "first-boot"))


async def roll(
    client: Client,
    watch: Watch,
    machines: Sequence[Machine],
    pools: Mapping[str, str],
    folder: Path,
    screen: Screen,
    *,
    real: bool,
) -> list[Finding]:
    """Applies the rollout's examples, waits until they are everywhere, returns what the machines show."""
    key = await _key_pair(folder)
    objects = await asyncio.to_thread(read, EXAMPLES / "rollout")
    objects.append(_key_config(key.with_suffix(".pub").read_text().strip()))
    before = {machine.name: await machine.boot_id() for machine in machines}
    screen.say()
    screen.say(f"Rolling out {', '.join(o['metadata']['name'] for o in objects)}:")
    await _apply_at_once(client, watch, objects, set(pools.values()))
    wanted = {o["metadata"]["name"] for o in objects}

    def arrived(fleet: FleetView) -> bool:
        rendered = all(wanted <= watch.sources(pool) for pool in pools.values())
        return rendered and all_updated(fleet, pools)

    await watch.until(arrived, "the rollout")
    asked = _asked(objects, before, str(key) if real else "")
    return await evidence.collect(machines, asked)


async def _apply_at_once(
    client: Client, watch: Watch, objects: list[dict[str, Any]], pools: set[str]
) -> None:
    """Several MachineConfigs are one rollout, not several: the pools are paused while they are applied."""
    await _pause(client, pools, True)
    await apply(client, objects)
    wanted = {o["metadata"]["name"] for o in objects}
    await watch.until(lambda _: all(wanted <= watch.sources(pool) for pool in pools), "rendering")
    await _pause(client, pools, None)


async def _pause(client: Client, pools: set[str], paused: bool | None) -> None:
    for pool in pools:
        body = {"spec": {"paused": paused}}
        await patiently(partial(client.patch, resources.MACHINE_CONFIG_POOLS, pool, body))


def _asked(objects: Sequence[dict[str, Any]], before: Mapping[str, str], key: str) -> Mapping[str, Asked]:
    """What the rollout's objects say, merged as the renderer merges them."""
    configs = [msgspec.json.decode(msgspec.json.encode(o), type=MachineConfig) for o in objects]
    documents = [bytes(c.spec.config) for c in configs if bytes(c.spec.config)]
    merged = merge_all([parse.parse_and_convert(document) for document in documents]).config
    arguments = tuple(a for c in configs for a in c.spec.kernel_arguments or ())
    return {
        name: Asked(config=merged, kernel_arguments=arguments, boot_before=boot, key=key)
        for name, boot in before.items()
    }


async def _key_pair(folder: Path) -> Path:
    """A key of our own, so that logging in with it is a proof and not a claim."""
    path = files.private_folder(folder / "ssh") / "id_ed25519"
    if not path.exists():
        argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "mco-tour", "-f", str(path))
        process = await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.DEVNULL)
        if await process.wait() != 0:
            raise MCOError("ssh-keygen failed", path=str(path))
    return path


def _key_config(public: str) -> dict[str, Any]:
    users = [{"name": "core", "sshAuthorizedKeys": [public]}]
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": "65-tour-ssh-key", "labels": {names.ROLE_LABEL: names.WORKER}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}, "passwd": {"users": users}}},
    }
