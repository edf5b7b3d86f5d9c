"""The files of a new directory-rooted host: as little as a Debian machine would need to look like one."""

from __future__ import annotations

import uuid

from mco.host.root import Root

_FOLDERS = ("/etc/systemd/system", "/home", "/run", "/tmp", "/var/lib", "/usr/bin", "/boot/loader/entries")
_PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
core:x:1000:1000:Core:/home/core:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
_GROUP = "root:x:0:\ndaemon:x:1:\nsudo:x:27:core\ncore:x:1000:\nnogroup:x:65534:\n"
_SHADOW = "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\ncore:*:19000:0:99999:7:::\n"
_OS_RELEASE = 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Directory-rooted host (Debian 12)"\n'
_ENTRY = """title Debian GNU/Linux 12
version 6.1.0-fake
linux /vmlinuz
options root=LABEL=root ro quiet
"""
_TARGET = "[Unit]\nDescription={0}\n"
_SSHD = """[Unit]
Description=OpenBSD Secure Shell server
[Service]
Type=notify
ExecStart=/usr/sbin/sshd -D
ExecReload=/bin/kill -HUP $MAINPID
[Install]
WantedBy=multi-user.target
"""


def fill(root: Root, hostname: str) -> None:
    for folder in _FOLDERS:
        root.mkdir(folder, 0o755)
    root.mkdir("/home/core", 0o700, (1000, 1000))
    for path, text, mode in (
        ("/etc/passwd", _PASSWD, 0o644),
        ("/etc/group", _GROUP, 0o644),
        ("/etc/shadow", _SHADOW, 0o640),
        ("/etc/hostname", f"{hostname}\n", 0o644),
        ("/etc/machine-id", f"{uuid.uuid4().hex}\n", 0o444),
        ("/usr/lib/os-release", _OS_RELEASE, 0o644),
        ("/boot/loader/entries/debian.conf", _ENTRY, 0o644),
        ("/boot/loader/loader.conf", "timeout 3\ndefault debian.conf\n", 0o644),
        ("/usr/lib/systemd/system/ssh.service", _SSHD, 0o644),
    ):
        root.write(path, text.encode(), mode=mode)
    for target in ("sysinit", "basic", "network-online", "multi-user", "timers", "sockets"):
        path = f"/usr/lib/systemd/system/{target}.target"
        root.write(path, _TARGET.format(target).encode())
    root.symlink("/etc/os-release", "../usr/lib/os-release")
    root.symlink(
        "/etc/systemd/system/multi-user.target.wants/ssh.service", "/usr/lib/systemd/system/ssh.service"
    )
