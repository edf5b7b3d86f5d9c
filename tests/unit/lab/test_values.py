"""What the lab decides before it touches the host."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import msgspec
import pytest

from mco.base.errors import Conflict, InvalidInput
from mco.lab import image, launch, paths
from mco.lab.base import Recipe, recipe_from_environment
from mco.lab.disk import Disk
from mco.lab.firstboot import Source
from mco.lab.image import Layer
from mco.lab.network import MACHINES, Network
from mco.lab.opt import Program
from mco.lab.shape import Shape


def test_the_pointer_names_server_authority_and_the_machines_token() -> None:
    source = Source(
        url="https://10.0.0.1:22623/config/worker", ca=b"PEM", headers={"Authorization": "Bearer x"}
    )
    assert msgspec.json.decode(source.pointer()) == {
        "ignition": {
            "version": "3.3.0",
            "config": {
                "merge": [
                    {
                        "source": "https://10.0.0.1:22623/config/worker",
                        "httpHeaders": [{"name": "Authorization", "value": "Bearer x"}],
                    }
                ]
            },
            "security": {
                "tls": {
                    "certificateAuthorities": [
                        {
                            "source": "data:text/plain;charset=utf-8;base64,"
                            + base64.b64encode(b"PEM").decode()
                        }
                    ]
                }
            },
        }
    }


def test_an_interfaces_name_fits_the_kernels_fifteen_characters() -> None:
    tag = paths.instance_tag("an-instance-with-a-long-name")
    assert len(f"vb-{tag}-{MACHINES}") <= 15


def test_instances_of_two_users_with_one_name_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/home/one/.local/state")
    first = paths.instance_tag("default")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/two/.local/state")
    assert paths.instance_tag("default") != first


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "..", "a b", "a\n", "a" * 43])
def test_a_name_that_is_no_label_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not a valid machine name"):
        paths.check_name(name, "machine")


def test_a_relative_xdg_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", "/home/user")
    assert paths.registry_folder() == Path("/home/user/.local/state/mco/lab")


def test_each_machine_has_an_address_of_its_own_in_the_subnet() -> None:
    network = Network(bridge="b", subnet="10.213.7.0/24")
    assert network.host_address == "10.213.7.1"
    assert network.machine_address(0) == "10.213.7.10"
    assert network.machine_address(MACHINES - 1) == "10.213.7.254"
    with pytest.raises(Conflict, match="room for 245 machines"):
        network.machine_address(MACHINES)
    assert "Address=10.213.7.12/24\nGateway=10.213.7.1\n" in network.unit(2)


def test_the_images_key_follows_its_units_and_the_roots_its_packages() -> None:
    plain, with_unit = Layer(), Layer(units={"mco-daemon.service": "[Service]\n"})
    assert plain.key != with_unit.key
    assert with_unit.key == Layer(units={"mco-daemon.service": "[Service]\n"}).key
    assert Recipe().key == Recipe(mirror="http://elsewhere/").key
    assert Recipe().key != Recipe(packages=("systemd",)).key
    assert recipe_from_environment().key == Recipe().key
    assert recipe_from_environment(("containerd",)).key != Recipe().key


def test_units_of_the_image_are_enabled_before_everything_else_is_disabled() -> None:
    preset = (
        Layer(units={"x.service": ""}).files()["/usr/lib/systemd/system-preset/50-lab.preset"].splitlines()
    )
    assert preset.index("enable x.service") < preset.index("disable *")
    assert preset[-1] == "disable *"


def test_a_strict_umask_does_not_close_the_image_to_a_machines_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = os.umask(0o077)
    try:
        layer = image.build(Layer())
        disk = Disk(folder=tmp_path / "disk")
        disk.clone(tmp_path, layer, "worker-0", "")
    finally:
        os.umask(before)
    for root in (layer, disk.folder / "upper", disk.boot):
        for path in (root, *root.rglob("*")):
            wanted = 0o755 if path.is_dir() else 0o644
            assert path.is_symlink() or stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_folders_with_colons_reach_nspawn_escaped() -> None:
    disk = Disk(folder=Path("/data/a:b"))
    program = Program(program=Path("/cache/p"), site=Path("/cache/s"))
    argv = launch.boot(
        launch.Launch(
            machine_id="abcdef-0",
            hostname="worker-0",
            disk=disk,
            groups=(Path("/sys/fs/cgroup/x"),),
            scope="x.scope",
            bridge="b",
            program=program,
            shape=Shape(binds={"/opt/x": Path("/cache/x:y")}, volumes=("/var/lib/x",)),
        )
    )
    assert "--bind=/data/a\\:b/boot:/boot" in argv
    assert "--bind-ro=/cache/x\\:y:/opt/x" in argv
    assert "--bind=/data/a\\:b/volumes/var-lib-x:/var/lib/x" in argv
    assert "/data/a:b" in argv  # for the shell, which needs no escape
