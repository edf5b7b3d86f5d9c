from __future__ import annotations

import pytest

from mco.host.errors import CommandError
from mco.host.machine import Host
from mco.host.systemd import UNIT_FOLDER
from tests.contract.host.subjects import Subject

GOOD = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"
BAD = "[Service]\nType=oneshot\nExecStart=/bin/false\n"
SIMPLE_BAD = "[Service]\nExecStart=/bin/false\n"
RELOADS = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nExecReload=/bin/true\n"
INSTALL = "[Install]\nWantedBy=multi-user.target\n"


def unit(host: Host, name: str, text: str) -> None:
    host.root.write(f"{UNIT_FOLDER}/{name}", text.encode())
    host.systemd.daemon_reload()


def links(host: Host, target: str = "multi-user.target") -> list[str]:
    return [name for name in host.root.list(f"{UNIT_FOLDER}/{target}.wants") if name.startswith("t-")]


def test_a_list_is_enabled_and_disabled_at_once(host: Host) -> None:
    for name in ("t-a.service", "t-b.service"):
        unit(host, name, GOOD + INSTALL)
    host.systemd.enable(["t-a.service", "t-b.service"])
    assert links(host) == ["t-a.service", "t-b.service"]
    assert host.systemd.enabled_states(["t-a.service", "t-b.service"]) == {
        "t-a.service": "enabled",
        "t-b.service": "enabled",
    }
    host.systemd.disable(["t-b.service", "t-a.service"])
    assert links(host) == []
    assert host.systemd.is_enabled("t-a.service") == "disabled"
    host.systemd.enable([])
    host.systemd.disable([])


def test_one_that_cannot_be_enabled_fails_the_list_and_enables_none(host: Host) -> None:
    unit(host, "t-a.service", GOOD + INSTALL)
    with pytest.raises(
        CommandError, match=r"systemctl enable -- t-a\.service t-none\.service.*t-none\.service"
    ):
        host.systemd.enable(["t-a.service", "t-none.service"])
    assert links(host) == []


def test_a_masked_unit_is_masked_and_cannot_be_enabled_or_started(host: Host) -> None:
    host.root.symlink(f"{UNIT_FOLDER}/t-m.service", "/dev/null")
    host.systemd.daemon_reload()
    assert host.systemd.is_enabled("t-m.service") == "masked"
    assert host.systemd.show("t-m.service", ["LoadState"]) == {"LoadState": "masked"}
    with pytest.raises(CommandError, match="masked"):
        host.systemd.enable(["t-m.service"])
    with pytest.raises(CommandError, match="masked"):
        host.systemd.start("t-m.service")


def test_words_for_units_that_nothing_enables(host: Host) -> None:
    unit(host, "t-static.service", GOOD)
    unit(host, "t-a.service", GOOD + INSTALL)
    states = host.systemd.enabled_states(["t-static.service", "t-none.service", "t-a.service"])
    assert states["t-static.service"] == "static"
    assert states["t-none.service"] == "not-found"
    assert states["t-a.service"] in ("disabled", "enabled")
    assert host.systemd.enabled_states([]) == {}


def test_presets_decide_and_are_read_from_the_machine(host: Host) -> None:
    unit(host, "t-on.service", GOOD + INSTALL)
    unit(host, "t-off.service", GOOD + INSTALL)
    host.root.write("/etc/systemd/system-preset/10-t.preset", b"enable t-on.service\ndisable t-off.service\n")
    host.systemd.enable(["t-off.service"])
    host.systemd.preset("t-on.service")
    host.systemd.preset("t-off.service")
    assert host.systemd.is_enabled("t-on.service") == "enabled"
    assert host.systemd.is_enabled("t-off.service") == "disabled"
    with pytest.raises(CommandError):
        host.systemd.preset("t-none.service")


def test_unit_files_lists_the_vendors_and_ours(host: Host) -> None:
    unit(host, "t-a.service", GOOD)
    names = host.systemd.unit_files()
    assert {"t-a.service", "ssh.service", "multi-user.target"} <= names
    assert "t-none.service" not in names


def test_a_unit_runs_until_it_is_stopped(host: Host) -> None:
    unit(host, "t-run.service", GOOD)
    assert host.systemd.active_state("t-run.service") == "inactive"
    host.systemd.start("t-run.service")
    assert host.systemd.active_state("t-run.service") == "active"
    host.systemd.restart("t-run.service")
    host.systemd.stop("t-run.service")
    assert host.systemd.active_state("t-run.service") == "inactive"


def test_a_unit_that_fails_is_named_and_heals(host: Host) -> None:
    unit(host, "t-bad.service", BAD)
    with pytest.raises(
        CommandError, match=r"systemctl start -- t-bad\.service failed: .*t-bad\.service"
    ) as caught:
        host.systemd.start("t-bad.service")
    assert "start" in caught.value.argv
    assert host.systemd.active_state("t-bad.service") == "failed"
    assert "t-bad.service" in host.systemd.failed()
    unit(host, "t-bad.service", GOOD)
    host.systemd.restart("t-bad.service")
    assert host.systemd.active_state("t-bad.service") == "active"
    assert "t-bad.service" not in host.systemd.failed()


def test_a_command_that_ends_badly_later_fails_the_unit_and_not_the_start(host: Host) -> None:
    unit(host, "t-later.service", SIMPLE_BAD)
    host.systemd.start("t-later.service")
    while (state := host.systemd.active_state("t-later.service")) == "active":
        pass
    assert state == "failed"


def test_reloading_needs_a_unit_that_runs_and_knows_how(host: Host) -> None:
    unit(host, "t-reload.service", RELOADS)
    with pytest.raises(CommandError):
        host.systemd.reload("t-reload.service")
    host.systemd.start("t-reload.service")
    host.systemd.reload("t-reload.service")
    unit(host, "t-dumb.service", GOOD)
    host.systemd.start("t-dumb.service")
    with pytest.raises(CommandError, match="not applicable"):
        host.systemd.reload("t-dumb.service")


def test_unknown_units_are_an_error_that_names_them(host: Host) -> None:
    for call in (host.systemd.start, host.systemd.restart, host.systemd.reload, host.systemd.stop):
        with pytest.raises(CommandError, match=r"t-none\.service"):
            call("t-none.service")
    assert host.systemd.show("t-none.service", ["LoadState"])["LoadState"] == "not-found"


def test_dropins_count(host: Host) -> None:
    unit(host, "t-drop.service", BAD)
    host.root.write(
        f"{UNIT_FOLDER}/t-drop.service.d/10-x.conf", b"[Service]\nExecStart=\nExecStart=/bin/true\n"
    )
    host.systemd.daemon_reload()
    host.systemd.start("t-drop.service")


def test_what_is_enabled_runs_after_a_reboot_and_what_was_only_started_does_not(subject: Subject) -> None:
    host = subject.host
    unit(host, "t-boot.service", GOOD + INSTALL)
    unit(host, "t-once.service", GOOD + INSTALL)
    unit(host, "t-bootbad.service", BAD + INSTALL)
    host.systemd.enable(["t-boot.service", "t-bootbad.service"])
    host.systemd.disable(["t-once.service"])
    host.systemd.start("t-once.service")
    host.root.write("/run/t-volatile", b"x")
    before = host.boot_id()
    machine_id = host.machine_id()
    subject.reboot()
    host = subject.host
    assert host.boot_id() != before
    assert host.machine_id() == machine_id
    assert host.systemd.active_state("t-boot.service") == "active"
    assert host.systemd.active_state("t-once.service") == "inactive"
    assert "t-bootbad.service" in host.systemd.failed()
    assert not host.root.exists("/run/t-volatile")
