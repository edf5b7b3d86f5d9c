"""The image layer: what makes the base root a machine of the lab, as a second read-only layer of its disk.

Files as a mapping from path to content, hashed for the layer's key: a change of one of them costs
milliseconds, not another base root.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mco.lab import paths
from mco.lab.locks import Lock
from mco.lab.shape import ORDINARY, Shape

# The command line that the boot loader chose (`bootloader.py`). Nothing can be bound below /proc from
# outside.
_CMDLINE_UNIT = """\
[Unit]
Description=Kernel command line of this boot
DefaultDependencies=no
Before=sysinit.target
ConditionPathExists=/lab/cmdline

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/mount --bind /lab/cmdline /proc/cmdline
"""

# Host keys belong to one machine: made at its first boot, one kind, because RSA would take a second.
_SSH_KEY = "/etc/ssh/ssh_host_ed25519_key"
_SSH_KEY_DROPIN = f"""\
[Service]
ExecStartPre=
ExecStartPre=/bin/sh -c 'test -s {_SSH_KEY} || ssh-keygen -q -t ed25519 -N "" -f {_SSH_KEY}'
"""

_SSHD = f"""\
HostKey {_SSH_KEY}
AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys.d/ignition
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
"""

# Every message of the journal is on the console too, so that `mco lab logs` shows what a machine that died
# said.
_JOURNALD = """\
[Journal]
Storage=persistent
ForwardToConsole=yes
MaxLevelConsole=info
"""

# The engine labels files when the root has an SELinux policy, with the host's setfiles.
_SELINUX = {
    "/etc/selinux/config": "SELINUX=disabled\nSELINUXTYPE=targeted\n",
    "/etc/selinux/targeted/contexts/files/file_contexts": "",
}

_FILES: Mapping[str, str] = {
    "/usr/lib/systemd/system/lab-cmdline.service": _CMDLINE_UNIT,
    "/usr/lib/systemd/system/ssh.service.d/10-lab.conf": _SSH_KEY_DROPIN,
    "/etc/ssh/sshd_config.d/10-lab.conf": _SSHD,
    "/etc/systemd/journald.conf.d/10-lab.conf": _JOURNALD,
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    **_SELINUX,
}

_LINKS: Mapping[str, str] = {
    # The address belongs to the place where a machine stands, not to its disk.
    "/etc/systemd/network/10-lab.network": "/lab/host0.network",
    "/usr/lib/systemd/system/sysinit.target.wants/lab-cmdline.service": "../lab-cmdline.service",
}

# Nothing that only costs boot time or would change a machine behind our back.
_MASKED = (
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "systemd-firstboot.service",
    "systemd-logind.service",
    "systemd-network-generator.service",
    "systemd-pstore.service",
    "systemd-update-utmp-runlevel.service",
    "systemd-update-utmp.service",
    "systemd-tmpfiles-clean.timer",
)

_ENABLED = (
    "remote-fs.target",
    "ssh.service",
    "systemd-networkd-wait-online.service",
    "systemd-networkd.service",
)


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """`units` are the systemd units that the image brings besides, as name to text: those of the daemon.
    All of them are enabled at first boot, and those of packages that the shape names."""

    units: Mapping[str, str] = msgspec.field(default_factory=dict)
    shape: Shape = ORDINARY

    def files(self) -> dict[str, str]:
        units = {f"/usr/lib/systemd/system/{name}": text for name, text in self.units.items()}
        enabled = (*_ENABLED, *self.shape.units, *sorted(self.units))
        preset = "".join(f"enable {name}\n" for name in enabled)
        # Ignition's own preset is 20-ignition.preset, and the first match decides.
        presets = {"/usr/lib/systemd/system-preset/50-lab.preset": f"{preset}disable *\n"}
        return {**_FILES, **self.shape.files, **units, **presets}

    def links(self) -> dict[str, str]:
        masks = {f"/etc/systemd/system/{name}": "/dev/null" for name in _MASKED}
        return {**_LINKS, **self.shape.links, **masks}

    @property
    def key(self) -> str:
        content = msgspec.json.encode([self.files(), self.links()], order="sorted")
        return hashlib.sha256(content).hexdigest()[:12]


def build(layer: Layer) -> Path:
    """The layer's folder, made if it is not there."""
    folder = paths.cache_folder() / f"image-{layer.key}"
    if folder.is_dir():
        return folder
    with Lock(folder.with_suffix(".lock"), removes=True):
        if not folder.is_dir():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            _write(layer, partial)
            partial.rename(folder)
    return folder


def _write(layer: Layer, root: Path) -> None:
    for name in ("boot", "lab", "opt/mco"):
        (root / name).mkdir(parents=True)
    for name, text in layer.files().items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, target in layer.links().items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    open_to_all(root)


def open_to_all(root: Path) -> None:
    """What was just made becomes 0755 and 0644, whatever the umask: a machine's users go through it."""
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o755)
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o644)
