from __future__ import annotations

from pathlib import Path

import pytest

from mco.base.errors import HostError
from mco.lab import bootloader


def _partition(folder: Path, entries: dict[str, str], conf: str | None) -> Path:
    (folder / "loader" / "entries").mkdir(parents=True)
    for name, options in entries.items():
        text = f"title {name}\nversion 1\nlinux /vmlinuz-{name}\noptions {options}\n"
        (folder / "loader" / "entries" / f"{name}.conf").write_text(text)
    if conf is not None:
        (folder / "loader" / "loader.conf").write_text(conf)
    return folder


def test_a_new_partition_boots_the_images_entry_with_the_arguments_asked_for(tmp_path: Path) -> None:
    bootloader.install(tmp_path / "boot", "quiet a=b")
    entry = bootloader.choose(tmp_path / "boot")
    assert bootloader.command_line(entry) == "BOOT_IMAGE=/vmlinuz root=LABEL=root rw quiet a=b"


@pytest.mark.parametrize(
    ("conf", "chosen"),
    [
        ("default old.conf\n", "old"),
        ("default old\n", "old"),
        ("# default old\ntimeout 3\ndefault n*\n", "new"),
        ("default none-such\n", "old-2"),
        ("timeout 0\n", "old-2"),
        (None, "old-2"),
    ],
)
def test_the_default_entry_is_what_boots(conf: str | None, chosen: str, tmp_path: Path) -> None:
    boot = _partition(tmp_path, {"old": "a", "new": "b", "old-2": "c"}, conf)
    assert bootloader.choose(boot).id == chosen


def test_a_machine_without_an_entry_does_not_boot(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="the machine has no boot entry and cannot boot"):
        bootloader.choose(_partition(tmp_path, {}, "default x\n"))


def test_links_laid_by_a_machine_do_not_lead_to_the_hosts_files(tmp_path: Path) -> None:
    (tmp_path / "secret.conf").write_text("title x\noptions secret\n")
    boot = _partition(tmp_path / "boot", {}, None)
    (boot / "loader" / "entries" / "evil.conf").symlink_to(tmp_path / "secret.conf")
    with pytest.raises(HostError, match="no such file"):
        bootloader.choose(boot)
