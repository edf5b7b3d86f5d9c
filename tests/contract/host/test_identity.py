from __future__ import annotations

import re

import pytest

from mco.base.errors import HostError
from mco.host.machine import Host


def test_a_machine_says_who_it_is(host: Host) -> None:
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", host.boot_id())
    assert re.fullmatch(r"[0-9a-f]{32}", host.machine_id())
    assert host.hostname() == host.root.read_text("/etc/hostname").strip()
    assert host.identity.kernel_release()
    release = host.identity.os_release()
    assert (release.id, release.version_id) == ("debian", "12")
    assert "Debian" in release.pretty_name


def test_a_machine_without_an_id_says_how_to_get_one(host: Host) -> None:
    before = host.root.read("/etc/machine-id")
    try:
        for text in (b"", b"uninitialized\n"):
            host.root.write("/etc/machine-id", text, mode=0o444)
            with pytest.raises(HostError, match="no machine id") as caught:
                host.machine_id()
            assert "systemd-machine-id-setup" in caught.value.hint
    finally:
        host.root.write("/etc/machine-id", before, mode=0o444)


def test_a_program_that_is_not_there_is_named(host: Host) -> None:
    with pytest.raises(HostError, match="no-such-program"):
        host.commands.run("no-such-program", "--flag")
