from __future__ import annotations

import pytest

from mco.base.errors import InvalidInput, Unsupported
from mco.host.fake import FakeMachine
from mco.host.machine import Host
from mco.host.preimage import capture, restore
from tests.contract.host.subjects import Subject

LOADER = "/boot/loader/loader.conf"
ENTRIES = "/boot/loader/entries"


@pytest.fixture(autouse=True)
def _as_the_vendor_left_it(subject: Subject) -> None:
    subject.host.kernel.set([])
    for name in subject.host.root.list(ENTRIES):
        if name.startswith("mco-"):
            subject.host.root.remove(f"{ENTRIES}/{name}")


def boot_files(host: Host) -> dict[str, bytes]:
    paths = [LOADER, *(f"{ENTRIES}/{name}" for name in host.root.list(ENTRIES))]
    return {path: host.root.read(path) for path in paths}


def test_arguments_are_configured_at_once_and_true_after_a_reboot(subject: Subject) -> None:
    host = subject.host
    vendor = host.kernel.configured()
    assert host.kernel.set(["nosmt", "a=1 b=2", 'dyndbg="file drm_*.c +p"'])
    ours = ("nosmt", "a=1", "b=2", 'dyndbg="file drm_*.c +p"')
    assert host.kernel.configured() == (*vendor, *ours)
    assert host.kernel.managed() == ours
    assert host.kernel.missing(["nosmt", 'dyndbg="file drm_*.c +p"']) == ("nosmt", 'dyndbg="file drm_*.c +p"')
    subject.reboot()
    host = subject.host
    assert host.kernel.missing(["nosmt", "a=1 b=2", 'dyndbg="file drm_*.c +p"']) == ()
    assert set(ours) <= set(host.kernel.running())


def test_nothing_is_written_when_nothing_changes(host: Host) -> None:
    host.kernel.set(["x=1"])
    before = boot_files(host)
    assert host.kernel.prepare(["x=1"]) is None
    assert not host.kernel.set(["x=1"])
    assert boot_files(host) == before


def test_removing_all_gives_the_vendors_bytes_back(host: Host) -> None:
    before = boot_files(host)
    host.kernel.set(["x=1", "x=1"])
    host.kernel.set(["y"])
    host.kernel.set([])
    assert host.root.read(LOADER) == before[LOADER]
    after = boot_files(host)
    assert {path: after[path] for path in before} == before


def test_duplicates_and_arguments_that_the_vendor_has_too_are_ours_alone(host: Host) -> None:
    vendor = host.kernel.configured()
    host.kernel.set([vendor[0], "x", "x"])
    assert host.kernel.configured() == (*vendor, vendor[0], "x", "x")
    host.kernel.set(["x"])
    assert host.kernel.configured() == (*vendor, "x")


def test_the_previous_entry_is_kept_and_only_that(host: Host) -> None:
    for value in range(5):
        host.kernel.set([f"v={value}"])
    ours = [name for name in host.root.list(ENTRIES) if name.startswith("mco-")]
    texts = [host.root.read_text(f"{ENTRIES}/{name}") for name in ours]
    assert sorted(text for text in texts if "v=3" in text or "v=4" in text) == sorted(texts)
    assert len(ours) == 2


def test_a_person_who_chose_the_vendors_entry_again_is_followed(host: Host) -> None:
    vendor = host.root.read(LOADER)
    arguments = host.kernel.configured()
    host.kernel.set(["x"])
    host.root.write(LOADER, vendor)
    assert (host.kernel.configured(), host.kernel.managed()) == (arguments, ())
    host.kernel.set(["y"])
    assert host.kernel.configured() == (*arguments, "y")


def test_a_change_says_beforehand_what_it_touches_and_can_be_undone(host: Host) -> None:
    host.kernel.set(["one"])
    host.kernel.set(["two"])
    before = boot_files(host)
    change = host.kernel.prepare(["three"])
    assert change is not None
    images = [capture(host.root, path) for path in change.paths]
    host.kernel.apply(change)
    changed = {path for path, data in {**before, **boot_files(host)}.items() if before.get(path) != data}
    assert changed | {path for path in before if path not in boot_files(host)} <= set(change.paths)
    for image in reversed(images):
        restore(host.root, image)
    assert boot_files(host) == before


def test_a_crash_between_the_steps_leaves_a_default_entry_that_exists(host: Host) -> None:
    host.kernel.set(["one"])
    change = host.kernel.prepare(["two"])
    assert change is not None
    host.root.write(change.entry_path, change.entry)
    assert host.kernel.managed() == ("one",)
    host.kernel.apply(change)
    assert host.kernel.managed() == ("two",)


@pytest.mark.parametrize("bad", ["a\nb", "a\0b", "\x1b[0m", 'a="b'])
def test_what_would_damage_the_entry_is_refused_before_a_write(host: Host, bad: str) -> None:
    before = boot_files(host)
    with pytest.raises(InvalidInput, match="kernel argument"):
        host.kernel.set(["fine", bad])
    assert boot_files(host) == before


@pytest.fixture
def fake(subject: Subject, request: pytest.FixtureRequest) -> Host:
    if "lab" in request.node.callspec.id:
        pytest.skip("would leave the machine without a boot loader")
    return subject.host


def test_a_machine_without_boot_entries_says_what_is_needed(fake: Host) -> None:
    fake.root.remove_tree("/boot/loader")
    for call in (fake.kernel.configured, fake.kernel.managed, lambda: fake.kernel.set(["x"])):
        with pytest.raises(Unsupported, match="no boot loader entries") as caught:
            call()
        assert "systemd-boot" in caught.value.hint
    assert fake.kernel.running()


def test_grub_is_recognized(fake: Host) -> None:
    fake.root.remove(LOADER)
    fake.root.write("/boot/grub2/grubenv", b"saved_entry=x")
    with pytest.raises(Unsupported, match="GRUB"):
        fake.kernel.set(["x"])


def test_a_newer_kernel_of_the_vendors_is_the_base_of_the_next_change(fake: Host) -> None:
    fake.root.write(LOADER, b"default debian*\n")
    fake.kernel.set(["x"])
    newer = b"title Debian\nversion 7\nlinux /vmlinuz-7\noptions root=LABEL=root\noptions new\n"
    fake.root.write(f"{ENTRIES}/debian-7.conf", newer)
    assert fake.kernel.managed() == ("x",)
    fake.kernel.set(["y"])
    assert fake.kernel.configured() == ("root=LABEL=root", "new", "y")
    fake.kernel.set([])
    assert fake.root.read(LOADER) == b"default debian*\n"


def test_a_vendor_entry_that_is_gone_does_not_take_its_arguments_along(fake: Host) -> None:
    vendor = fake.kernel.configured()
    fake.kernel.set(["x"])
    fake.root.remove(f"{ENTRIES}/debian.conf")
    fake.kernel.set(["y"])
    assert fake.kernel.configured() == (*vendor, "y")
    fake.kernel.set([])
    assert fake.kernel.configured() == vendor


def test_the_esp_is_found_where_it_is_mounted(tmp_path_factory: pytest.TempPathFactory) -> None:
    machine = FakeMachine.create(tmp_path_factory.mktemp("esp") / "m")
    machine.root.copy(LOADER, "/efi/loader/loader.conf")
    machine.root.copy(f"{ENTRIES}/debian.conf", "/efi/loader/entries/debian.conf")
    machine.root.remove_tree("/boot/loader")
    machine.host.kernel.set(["x"])
    machine.boot()
    assert machine.host.kernel.missing(["x"]) == ()
    machine.close()
