"""What the original writes: field order, empty parts, escapes."""

from __future__ import annotations

from mco.ignition import types as t
from mco.ignition.encode import to_builtins, to_json


def config(**parts: object) -> t.Config:
    return t.Config(ignition=t.Ignition(version=t.VERSION), **parts)  # type: ignore[arg-type]


def test_the_empty_config() -> None:
    assert to_json(t.EMPTY) == b'{"ignition":{"version":"3.5.0"}}'
    assert to_builtins(t.EMPTY) == {"ignition": {"version": "3.5.0"}}


def test_the_order_is_that_of_the_originals_structs() -> None:
    user = t.PasswdUser(name="core", uid=1, shell="/bin/sh", ssh_authorized_keys=("k",), should_exist=True)
    file = t.File(path="/a", mode=420, contents=t.Resource(source="data:,"), overwrite=True)
    whole = config(passwd=t.Passwd(users=(user,)), storage=t.Storage(files=(file,)))
    assert to_json(whole).decode() == (
        '{"ignition":{"version":"3.5.0"},'
        '"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["k"],"shell":"/bin/sh","shouldExist":true,"uid":1}]},'
        '"storage":{"files":[{"overwrite":true,"path":"/a","contents":{"source":"data:,"},"mode":420}]}}'
    )


def test_parts_without_content_are_left_out_and_list_elements_are_not() -> None:
    file = t.File(path="/a", user=t.NodeUser(), contents=t.Resource(verification=t.Verification(hash=None)))
    storage = t.Storage(files=(file,), disks=(t.Disk(device="/d", partitions=(t.Partition(number=0),)),))
    assert to_builtins(config(storage=storage, systemd=t.Systemd(units=())))["storage"] == {
        "disks": [{"device": "/d", "partitions": [{}]}],
        "files": [{"path": "/a"}],
    }


def test_what_html_does_not_like_is_escaped() -> None:
    unit = t.Unit(name="a.service", contents='<&>\u2028\u2029\b\f\\b "ü":{}')
    raw = to_json(config(systemd=t.Systemd(units=(unit,))))
    expected = r'"contents":"\u003c\u0026\u003e\u2028\u2029\u0008\u000c\\b \"ü\":{}"'
    assert expected.encode() in raw
    assert (
        to_builtins(config(systemd=t.Systemd(units=(unit,))))["systemd"]["units"][0]["contents"]
        == unit.contents
    )
