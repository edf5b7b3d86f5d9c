"""Laws of applying an update to a machine: it ends as if the machine had always had the new config, and going
back from anywhere in it ends exactly where it began."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api import names
from mco.daemon import facts
from mco.daemon.perform import Failed, Interrupted, Performer
from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from mco.host.machine import Host
from mco.plan.node import diff, disruption, policies, update
from mco.plan.node.expectations import expectations
from mco.plan.node.steps import UpdatePlan
from mco.plan.node.target import EMPTY, Target, target
from tests.daemon.builders import SERVICE, config, file, typed, unit

_TEXTS = st.sampled_from(["", "one\n", "two\n"])
_OWNERS = st.sampled_from([{}, {"user": {"id": 1000}, "group": {"name": "sudo"}}, {"user": {"name": "core"}}])
_MODES = st.sampled_from([None, 0o600, 0o755])
_PATHS = st.sampled_from(["/etc/a", "/etc/a/b", "/etc/a/b/c", "/etc/motd", "/opt/new/x", "/etc/issue"])
_FILES = st.builds(
    lambda path, text, mode, owner: file(path, text, mode, **owner), _PATHS, _TEXTS, _MODES, _OWNERS
)
_CONTENTS = st.sampled_from([None, SERVICE.format(1), SERVICE.replace("multi-user", "basic").format(2)])
_DROPINS = st.dictionaries(st.sampled_from(["10-a.conf", "20-b.conf"]), _TEXTS, max_size=2)
_UNITS = st.builds(
    lambda name, contents, enabled, dropins: unit(name, contents, enabled=enabled, dropins=dropins),
    st.sampled_from(["one.service", "two.service", "ssh.service"]),
    _CONTENTS,
    st.sampled_from([None, True, False]),
    _DROPINS,
) | st.builds(
    lambda name, mask: unit(name, mask=mask), st.sampled_from(["one.service", "ssh.service"]), st.booleans()
)
_ARGUMENTS = st.lists(st.sampled_from(["a=1", "a=2", "quiet", "b"]), max_size=3)
_KEYS = st.lists(st.sampled_from(["ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"]), max_size=2, unique=True)


def _no_file_below_a_file(files: list[dict[str, Any]]) -> bool:
    paths = [entry["path"] for entry in files]
    return not any(one.startswith(other + "/") for one in paths for other in paths)


_CONFIGS = st.builds(
    lambda name, files, units, arguments, keys: target(
        typed(config(name, files=files, units=units, arguments=arguments, keys=keys))
    ),
    st.sampled_from(["x", "y"]),
    st.lists(_FILES, max_size=4, unique_by=lambda entry: entry["path"]).filter(_no_file_below_a_file),
    st.lists(_UNITS, max_size=3, unique_by=lambda entry: entry["name"]),
    _ARGUMENTS,
    _KEYS,
)

_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Hundreds of small trees are made and removed."""

Tree = dict[str, tuple[Any, ...]]


class Unsynced(Effects):
    """The laws are about what is there, not about what survives a loss of power."""

    def sync(self, fd: int) -> None:
        pass


@functools.cache
def _template() -> Path:
    """Made once: all machines are copies, with the same boot and machine id."""
    folder = Path(tempfile.mkdtemp(prefix="machine-", dir=_MEMORY))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = FakeMachine.create(folder / "m")
    made.root.write("/etc/issue", b"shipped\n", mode=0o644)
    made.root.write(names.CURRENT_CONFIG_FILE, b"{}", mode=0o600)
    made.close()
    return folder / "m"


@contextlib.contextmanager
def machine() -> Iterator[FakeMachine]:
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        shutil.copytree(_template(), Path(folder) / "m", symlinks=True)
        made = FakeMachine(Path(folder) / "m", as_root=True, systemctl="", effects=Unsynced())
        try:
            yield made
        finally:
            made.close()


def plan(old: Target, new: Target) -> UpdatePlan:
    changes = diff.compare(old, new)
    return UpdatePlan(
        old=old,
        new=new,
        changes=changes,
        actions=update.actions(old, new, changes),
        disruption=disruption.in_cluster(old, new, changes, policies.DEFAULT),
    )


def apply(host: Host, old: Target, new: Target) -> None:
    journal = Journal(host.root)
    performer = Performer(host, journal)
    performer.begin(plan(old, new), msgspec.json.encode({"metadata": {"name": new.name}}))
    performer.close()
    journal.close()


def everything(host: Host) -> Tree:
    """Every path of the machine, but for the daemon's own state."""
    found: Tree = {}
    for path, status in host.root.walk("/"):
        if path.startswith(names.STATE_FOLDER):
            continue
        data = host.root.read(path, follow=False) if status.is_file else b""
        found[path] = (status.mode, status.owner, status.target, data)
    return found


def managed(host: Host) -> Tree:
    """What a config decides: files and links anywhere, and the next command line; not which folders are left
    empty, nor how often the boot loader's entry was written."""
    own = ("/etc/machine-config-daemon/orig", "/etc/machine-config-daemon/noorig", "/boot")
    tree: Tree = {
        path: what
        for path, what in everything(host).items()
        if not path.startswith(own) and not host_folder(what) and not _of_masked_unit(host, path)
    }
    tree["kernel"] = (host.kernel.configured(),)
    # No keys is an empty file once there were some (spec/daemon.md 6.11).
    if host.ssh.path("core") in tree and not tree[str(host.ssh.path("core"))][3]:
        del tree[str(host.ssh.path("core"))]
    return tree


def _of_masked_unit(host: Host, path: str) -> bool:
    """A link that enables a unit which is masked: it means nothing as long as the mask is there."""
    unit_file = host.root.stat(f"/etc/systemd/system/{path.rpartition('/')[2]}")
    return ".wants/" in path and unit_file is not None and unit_file.target == "/dev/null"


def host_folder(what: tuple[Any, ...]) -> bool:
    return bool(what[0] & 0o170000 == 0o040000)


@given(_CONFIGS, _CONFIGS)
def test_an_update_ends_as_the_new_config_alone(old: Target, new: Target) -> None:
    with machine() as updated, machine() as fresh:
        apply(updated.host, EMPTY, old)
        apply(updated.host, old, new)
        apply(fresh.host, EMPTY, new)
        assert managed(updated.host) == managed(fresh.host)
        assert not facts.differences(updated.host, expectations(new, before=old, running=False))


@given(_CONFIGS, _CONFIGS, st.integers(min_value=0, max_value=25))
def test_undoing_from_any_point_gives_the_old_tree(old: Target, new: Target, stop_after: int) -> None:
    with machine() as made:
        apply(made.host, EMPTY, old)
        before = everything(made.host)
        journal = Journal(made.root)
        calls = iter(range(10_000))
        performer = Performer(made.host, journal, stop=lambda: next(calls) >= stop_after)
        with contextlib.suppress(Interrupted):
            performer.begin(plan(old, new), b'{"metadata": {"name": "new"}}')
        Performer(made.host, journal).undo("the test says so", reboot=False)
        journal.close()
        assert everything(made.host) == before


@given(_CONFIGS, _CONFIGS, st.integers(min_value=0, max_value=25))
def test_resuming_from_any_point_ends_as_if_never_interrupted(
    old: Target, new: Target, stop_after: int
) -> None:
    with machine() as made:
        apply(made.host, EMPTY, old)
        raw = b'{"metadata": {"name": "new"}}'
        journal = Journal(made.root)
        calls = iter(range(10_000))
        try:
            Performer(made.host, journal, stop=lambda: next(calls) >= stop_after).begin(plan(old, new), raw)
        except Interrupted:
            Performer(made.host, Journal(made.root)).resume(plan(old, new), raw)
        journal.close()
        assert not facts.differences(made.host, expectations(new, before=old, running=False))


@given(_CONFIGS, _CONFIGS)
def test_a_failing_action_undoes_the_ones_before_it(old: Target, new: Target) -> None:
    broken = msgspec.structs.replace(
        new, config=msgspec.structs.replace(new.config, storage=_with_unknown_owner(new))
    )
    with machine() as made:
        apply(made.host, EMPTY, old)
        before = everything(made.host)
        journal = Journal(made.root)
        with pytest.raises(Failed, match="/etc/zz"):
            Performer(made.host, journal).begin(plan(old, broken), b"{}")
        journal.close()
        assert everything(made.host) == before


def _with_unknown_owner(new: Target) -> Any:
    bad = target(typed(config("z", files=[file("/etc/zz", "", user={"name": "nosuch"})])))
    storage = new.config.storage
    return msgspec.structs.replace(storage, files=(*storage.files, *bad.config.storage.files))
