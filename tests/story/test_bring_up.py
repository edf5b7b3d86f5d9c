"""The first report (spec/operator.md 0.1): rendered configs come and go while machines boot from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mco.api.machineconfignode import CONFIG_UNKNOWN
from tests.story.installer import installer
from tests.story.objects import file, machine_config
from tests.story.product import told
from tests.story.world import World

SOURCES = (
    file("00-master", "/etc/motd", "managed", role="master"),
    machine_config("00-master-osimageurl", role="master", osImageURL="quay.io/os@sha256:" + "1" * 64),
    machine_config(
        "00-master-ssh",
        role="master",
        ignition={"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA"]}]}},
    ),
    machine_config(
        "01-master-kubelet",
        role="master",
        kernelArguments=["systemd.unified_cgroup_hierarchy=1"],
        ignition={"systemd": {"units": [{"name": "kubelet.service", "contents": "[Unit]\nDescription=x\n"}]}},
    ),
)
MACHINES = tuple(f"master-{number}" for number in range(1, len(SOURCES) + 1))


async def bring_up(world: World) -> list[str]:
    """The sources arrive within four seconds, and a machine boots from each config that is made of them; the
    configs' names."""
    configs = []
    for count, (source, machine) in enumerate(zip(SOURCES, MACHINES, strict=True), start=1):
        await world.apply(source)
        made_of = [source["metadata"]["name"] for source in SOURCES[:count]]
        configs.append(await world.rendered("master", made_of=made_of))
        await world.passes(1.0)
        await world.provision(machine, "master")
    assert [machine.served for machine in world.machines] == configs
    assert len(set(configs)) == len(SOURCES)
    return configs


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
def test_machines_that_booted_from_each_of_four_configs_converge(tmp_path: Path, lost: bool) -> None:
    """Each ends where the last one wants it, with one reboot at most; even when those in between are gone
    before the first machine reports."""

    async def story(world: World) -> None:
        *between, last = await bring_up(world)
        if lost:
            for config in between:
                await world.lose(config)
        await world.start(*MACHINES)
        assert await world.updated("master") == last
        for machine in world.machines:
            assert world.current_config(machine.name) == last
            assert machine.read("/etc/motd") == "managed"
            assert "systemd.unified_cgroup_hierarchy=1" in machine.kernel_arguments
            assert machine.reboots <= 1
            if not lost or machine.served == last:
                # Of the others either is first: the update, or the config that comes back from the machine.
                assert await world.condition(machine.name, CONFIG_UNKNOWN) == ("", "")
        assert not world.ever_degraded

    told(tmp_path, story)


def test_a_machine_of_the_installer_is_where_the_cluster_wants_it(tmp_path: Path) -> None:
    """It boots before there is anything in the cluster. The cluster then renders the same name from the same
    manifests, the next machine is served by the cluster, and nobody has to move."""

    async def story(world: World) -> None:
        kubeconfig = await world.join_kubeconfig("master-1", "master")
        async with installer(tmp_path / "mcs", kubeconfig, *SOURCES) as source:
            await world.install("master-1", source)
        await world.apply(*SOURCES)
        first = await world.rendered("master", made_of=[item["metadata"]["name"] for item in SOURCES])
        assert world.machines[0].served == first
        await world.start("master-1")
        assert await world.updated("master") == first
        assert await world.boot("master-2", pool="master") == first
        for machine in world.machines:
            assert machine.served == first
            assert machine.reboots == 0
        assert not world.ever_degraded

    told(tmp_path, story)
