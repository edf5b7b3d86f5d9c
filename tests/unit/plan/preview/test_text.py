"""A preview as people read it."""

from __future__ import annotations

from typing import Any

from mco.plan.node.policies import DEFAULT
from mco.plan.preview.preview import preview
from mco.plan.preview.text import Writer, visible
from tests.daemon.builders import config, file, typed, unit
from tests.unit.plan.node.configs import plain, users
from tests.unit.plan.preview.test_parts import KEY, PRINT


def text(old: dict[str, Any], new: dict[str, Any], lines: int | None = None, *, colours: bool = False) -> str:
    found = preview(typed(config("old", **old)), typed(config("new", **new)), DEFAULT)
    return Writer(lambda word, colour: f"<{colour} {word}>" if colours else word, lines).text(found)


def test_the_whole_page() -> None:
    old = {
        "files": [file("/etc/motd", "one\ntwo\n"), file("/var/lib/kubelet/config.json", "{}")],
        "units": [unit("a.service", "[Unit]\n", enabled=True)],
        "arguments": ["a", "b"],
    }
    new = {
        "files": [
            file("/etc/motd", "one\n2\n", 0o640),
            file("/var/lib/kubelet/config.json", "hunter2"),
            plain("/etc/b", "\0"),
        ],
        "units": [unit("a.service", "[Unit]\n", enabled=False, dropins={"1.conf": "[Unit]\nA=b\n"})],
        "arguments": ["b", "c"],
        "keys": [KEY],
        "osImageURL": "image",
        "extensions": ["usbguard"],
        "kernelType": "realtime",
    }
    assert (
        text(old, new)
        == f"""\
rendered-worker-old -> rendered-worker-new

Files
  + /etc/b  mode 0644, owner 0:0
      (binary: nothing -> 1 byte, sha256 6e340b9cffb3)
  ~ /etc/motd  mode 0644 -> 0640
      --- a/etc/motd
      +++ b/etc/motd
      @@ -1,2 +1,2 @@
       one
      -two
      +2
  ~ /var/lib/kubelet/config.json
      (contents look secret and are not shown)

Units
  ~ a.service  enabled yes -> no
    + drop-in 1.conf
      --- /dev/null
      +++ b/etc/systemd/system/a.service.d/1.conf
      @@ -0,0 +1,2 @@
      +[Unit]
      +A=b

Users
  + core
      SSH key added: {PRINT} ssh-ed25519 me@host

System
  OS image none -> image
  kernel type default -> realtime
  kernel arguments
    - a
    + c
  extensions
    + usbguard

What a node would do
  1. Reboot: the OS image, the kernel arguments, the kernel type and the extensions changed
  drain: yes (the node reboots)
  reboot: yes
"""
    )


def test_no_change() -> None:
    assert (
        text({}, {})
        == """\
rendered-worker-old -> rendered-worker-new

What a node would do
  1. None: nothing changes
  drain: no (no action asks for it)
  reboot: no
"""
    )


def test_what_cannot_be_followed() -> None:
    shown = text({}, {"ignition": {"passwd": {"groups": [{"name": "g"}]}}})
    assert "Users\n  ~ group g\n" in shown
    assert "\nA running node cannot follow this change\n  new machineconfig " in shown
    assert "ignition Passwd Groups section contains changes" in shown
    assert "What a node would do" not in shown


def test_a_reason_of_several_lines() -> None:
    shown = text({}, {"files": [plain("a"), plain("b")]})
    assert "\n  error at $.storage.files.1.path" in shown
    assert "\\n" not in shown


def test_what_presets_decide_again() -> None:
    on, unset = unit("a.service", "[Unit]\n", enabled=True), unit("a.service", "[Unit]\n")
    assert "  ~ a.service  enabled yes -> unset\n" in text({"units": [on]}, {"units": [unset]})
    assert "  + a.service  enabled yes\n" in text({}, {"units": [on]})
    assert "  - a.service\n" in text({"units": [on]}, {})


def test_what_the_daemon_refuses() -> None:
    shown = text({}, {"files": [plain("/proc/x")]})
    assert "The daemon refuses this config\n  $.spec.config.storage.files.0.path: /proc/x" in shown
    assert "    hint: " in shown


def test_a_long_diff_is_cut_and_says_so() -> None:
    new = {"files": [plain("/a", "".join(f"{n}\n" for n in range(100)))]}
    shown = text({}, new, 10)
    assert "+6\n      (93 more lines; --full shows them)\n" in shown
    assert "+99\n" not in shown
    assert "+99\n" in text({}, new)


def test_what_a_terminal_would_obey_is_shown_as_text() -> None:
    bad = "\x1b[31mred\x1b]0;title\x07 \u202e\r"
    new = {"files": [plain("/a", bad)], "arguments": [f"a={bad}"], "units": [unit("a.service", bad)]}
    for shown in (text({}, new), text(new, {})):
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert "\\x1b[31mred" in shown
    assert visible("a\tb \u2028\ud800") == "a\tb \\u2028\\ud800"


def test_blanks_at_the_end_of_a_line_are_seen() -> None:
    assert "-a  \n      +a\n" in text({"files": [plain("/a", "a  \n")]}, {"files": [plain("/a", "a\n")]})


def test_colours() -> None:
    shown = text({"files": [plain("/a", "1\n")]}, {"files": [plain("/a", "2\n")]}, colours=True)
    parts = ("bold Files", "yellow ~ /a", "red -1", "green +2", "cyan @@ -1 +1 @@", "bold --- a/a")
    for part in (f"<{part}>" for part in parts):
        assert part in shown


def test_an_order_and_what_nobody_looks_at() -> None:
    one, two = plain("/etc/1"), plain("/etc/2")
    luks = {"storage": {"files": [two, one], "luks": [{"name": "data", "device": "/dev/x"}]}}
    shown = text({"files": [one, two]}, {"ignition": luks})
    assert "only the order differs" in shown
    assert "Not looked at by a running node\n  storage.luks\n" in shown
    assert "nothing: the policies of what changes ask for nothing" in shown
    swapped = text({"arguments": ["a", "b"]}, {"arguments": ["b", "a"]})
    assert "kernel arguments, reordered\n    now: b a\n" in swapped


def test_a_password_hash_is_never_shown() -> None:
    shown = text({"ignition": users({"name": "core", "passwordHash": "$6$old"})}, {"keys": [KEY]})
    assert "password hash removed (not shown)" in shown
    assert "$6$" not in shown
