"""spec/render.md 9 and the merge cases of 1.8 and 13.2."""

from __future__ import annotations

import gzip
import time
from typing import Any

import msgspec
import pytest

from mco.ignition import dataurl
from mco.ignition import types as t
from mco.ignition.encode import to_builtins
from mco.ignition.merge import merge, merge_all
from mco.ignition.origins import Element


def config(**sections: Any) -> t.Config:
    ignition = {"version": t.VERSION, **sections.pop("ignition", {})}
    return msgspec.convert({"ignition": ignition, **sections}, t.Config)


def merged(*sections: dict[str, Any], plain: bool = False) -> dict[str, Any]:
    result = to_builtins(merge_all([config(**s) for s in sections], plain_children=plain).config)
    del result["ignition"]["version"]
    return {key: value for key, value in result.items() if value}


def files(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"storage": {"files": list(elements)}}


def data(text: str) -> dict[str, Any]:
    return {"source": f"data:,{text}"}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "optional values: the child's when set": (
        files({"path": "/a", "mode": 420, "overwrite": True}),
        files({"path": "/a", "mode": 384}),
        files({"path": "/a", "mode": 384, "overwrite": True}),
    ),
    "false and zero are set": (
        files({"path": "/a", "mode": 420, "overwrite": True}),
        files({"path": "/a", "mode": 0, "overwrite": False}),
        files({"path": "/a", "mode": 0, "overwrite": False}),
    ),
    "a stale hash survives": (
        files(
            {
                "path": "/a",
                "user": {"name": "core"},
                "contents": {**data("one"), "verification": {"hash": "x"}},
            }
        ),
        files({"path": "/a", "contents": data("two")}),
        files(
            {
                "path": "/a",
                "user": {"name": "core"},
                "contents": {**data("two"), "verification": {"hash": "x"}},
            }
        ),
    ),
    "a name over an id gives both": (
        files({"path": "/a", "user": {"id": 1}}),
        files({"path": "/a", "user": {"name": "core"}}),
        files({"path": "/a", "user": {"id": 1, "name": "core"}}),
    ),
    "new elements follow, known ones keep their place": (
        files({"path": "/a"}, {"path": "/b"}),
        files({"path": "/c"}, {"path": "/a", "mode": 1}),
        files({"path": "/a", "mode": 1}, {"path": "/b"}, {"path": "/c"}),
    ),
    "append lists are joined": (
        files({"path": "/f", "append": [data("1")]}),
        files({"path": "/f", "append": [data("1"), data("2")]}),
        files({"path": "/f", "append": [data("1"), data("1"), data("2")]}),
    ),
    "files, directories and links share their paths": (
        {"storage": {"directories": [{"path": "/a"}], "links": [{"path": "/l", "target": "/x"}]}},
        {"storage": {"files": [{"path": "/a"}], "directories": [{"path": "/l"}]}},
        {"storage": {"files": [{"path": "/a"}], "directories": [{"path": "/l"}]}},
    ),
    "kernel arguments move between the lists": (
        {"kernelArguments": {"shouldExist": ["a", "b"], "shouldNotExist": ["c"]}},
        {"kernelArguments": {"shouldExist": ["c"], "shouldNotExist": ["a", "d"]}},
        {"kernelArguments": {"shouldExist": ["b", "c"], "shouldNotExist": ["a", "d"]}},
    ),
    "users: keys and groups united in order, fields replaced": (
        {
            "passwd": {
                "users": [
                    {"name": "core", "groups": ["a", "b"], "sshAuthorizedKeys": ["1"], "passwordHash": "h"}
                ]
            }
        },
        {
            "passwd": {
                "users": [
                    {"name": "core", "groups": ["b", "c"], "sshAuthorizedKeys": ["2", "1"]},
                    {"name": "x"},
                ]
            }
        },
        {
            "passwd": {
                "users": [
                    {
                        "name": "core",
                        "groups": ["a", "b", "c"],
                        "passwordHash": "h",
                        "sshAuthorizedKeys": ["1", "2"],
                    },
                    {"name": "x"},
                ]
            }
        },
    ),
    "units: contents replaced, the rest kept; drop-ins by name": (
        {
            "systemd": {
                "units": [
                    {
                        "name": "u.service",
                        "enabled": True,
                        "contents": "1",
                        "dropins": [{"name": "10", "contents": "1"}],
                    }
                ]
            }
        },
        {
            "systemd": {
                "units": [
                    {
                        "name": "u.service",
                        "contents": "2",
                        "dropins": [{"name": "20"}, {"name": "10", "contents": "2"}],
                    }
                ]
            }
        },
        {
            "systemd": {
                "units": [
                    {
                        "name": "u.service",
                        "enabled": True,
                        "contents": "2",
                        "dropins": [{"name": "10", "contents": "2"}, {"name": "20"}],
                    }
                ]
            }
        },
    ),
    "partitions by number, else by label": (
        {
            "storage": {
                "disks": [{"device": "/d", "partitions": [{"number": 1, "label": "x"}, {"label": "y"}]}]
            }
        },
        {
            "storage": {
                "disks": [
                    {
                        "device": "/d",
                        "partitions": [{"label": "y", "resize": True}, {"number": 1, "label": "z"}],
                    }
                ]
            }
        },
        {
            "storage": {
                "disks": [
                    {
                        "device": "/d",
                        "partitions": [{"number": 1, "label": "z"}, {"label": "y", "resize": True}],
                    }
                ]
            }
        },
    ),
    "filesystem options are joined, devices of an array united": (
        {
            "storage": {
                "filesystems": [{"device": "/d", "options": ["a"], "mountOptions": ["m"]}],
                "raid": [{"name": "r", "devices": ["/1", "/2"], "options": ["o"]}],
                "luks": [{"name": "l", "options": ["o"], "openOptions": ["p"]}],
            }
        },
        {
            "storage": {
                "filesystems": [{"device": "/d", "options": ["a"], "mountOptions": ["n"]}],
                "raid": [{"name": "r", "devices": ["/2", "/3"], "options": ["o"]}],
                "luks": [{"name": "l", "options": ["o"], "openOptions": ["p", "q"]}],
            }
        },
        {
            "storage": {
                "filesystems": [{"device": "/d", "options": ["a", "a"], "mountOptions": ["m", "n"]}],
                "raid": [{"name": "r", "devices": ["/1", "/2", "/3"], "options": ["o", "o"]}],
                "luks": [{"name": "l", "options": ["o", "o"], "openOptions": ["p", "q"]}],
            }
        },
    ),
    "a header without a value removes": (
        files(
            {
                "path": "/a",
                "contents": {"httpHeaders": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
            }
        ),
        files({"path": "/a", "contents": {"httpHeaders": [{"name": "A"}, {"name": "C", "value": "2"}]}}),
        files(
            {
                "path": "/a",
                "contents": {"httpHeaders": [{"name": "B", "value": "1"}, {"name": "C", "value": "2"}]},
            }
        ),
    ),
    "referenced configs by source": (
        {"ignition": {"config": {"merge": [{"source": "http://a"}, {"source": "http://b"}]}}},
        {
            "ignition": {
                "config": {"merge": [{"source": "http://b", "compression": "gzip"}, {"source": "http://c"}]}
            }
        },
        {
            "ignition": {
                "config": {
                    "merge": [
                        {"source": "http://a"},
                        {"source": "http://b", "compression": "gzip"},
                        {"source": "http://c"},
                    ]
                }
            }
        },
    ),
    "tang servers by url": (
        {
            "storage": {
                "luks": [
                    {"name": "l", "clevis": {"tang": [{"url": "http://a", "thumbprint": "1"}], "tpm2": True}}
                ]
            }
        },
        {"storage": {"luks": [{"name": "l", "clevis": {"tang": [{"url": "http://a", "thumbprint": "2"}]}}]}},
        {
            "storage": {
                "luks": [
                    {"name": "l", "clevis": {"tang": [{"url": "http://a", "thumbprint": "2"}], "tpm2": True}}
                ]
            }
        },
    ),
}


@pytest.mark.parametrize(("parent", "child", "expected"), list(CASES.values()), ids=list(CASES))
def test_rules(parent: dict[str, Any], child: dict[str, Any], expected: dict[str, Any]) -> None:
    result = merged(parent, child)
    if "ignition" not in expected:
        assert "ignition" not in result
    assert _sorted(result) == _sorted(expected)


def _sorted(value: Any) -> Any:
    """Key order is not what these cases are about; list order is."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def test_the_version_is_the_childs() -> None:
    older = config(ignition={"version": "3.4.0"})
    assert merge(older, config()).ignition.version == t.VERSION


def test_no_config_gives_the_empty_one_and_one_stays_as_it_is() -> None:
    assert merge_all([]).config == t.EMPTY
    single = config(**files({"path": "/a", "contents": {**data("x"), "compression": ""}}))
    assert merge_all([single], plain_children=True).config is single


def test_contents_and_compression_stay_together() -> None:
    """spec/render.md 13.2: gzip in an earlier config is gone when a later one replaces the contents
    plainly."""
    packed = dataurl.encode_base64(gzip.compress(b"packed"))
    result = merged(
        files({"path": "/1", "contents": data("aaa")}),
        files({"path": "/1", "contents": data("bbb")}),
        files({"path": "/2", "contents": {"source": packed, "compression": "gzip"}}),
        files(
            {"path": "/2", "contents": data("ccc")},
            {"path": "/3", "contents": {**data("d"), "compression": ""}},
        ),
        plain=True,
    )
    assert result == files(
        {"path": "/1", "contents": data("bbb")},
        {"path": "/2", "contents": data("ccc")},
        {"path": "/3", "contents": data("d")},
    )


def test_gzip_stays_where_nobody_says_otherwise() -> None:
    packed = {"source": dataurl.encode_base64(gzip.compress(b"packed")), "compression": "gzip"}
    result = merged(files({"path": "/1", "contents": packed}), files({"path": "/2"}), plain=True)
    contents = result["storage"]["files"][0]["contents"]
    assert dataurl.decode(contents["source"], contents["compression"]) == b"packed"


def test_origins_name_contributors_and_shadowed_inputs() -> None:
    result = merge_all(
        [
            config(**files({"path": "/a", "mode": 420, "contents": data("1")}, {"path": "/d"})),
            config(
                **files({"path": "/a", "contents": data("2")}), passwd={"users": [{"name": "core", "uid": 1}]}
            ),
            config(
                storage={"files": [{"path": "/a", "contents": data("3")}], "directories": [{"path": "/d"}]},
                passwd={"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}]},
                systemd={
                    "units": [{"name": "u.service", "dropins": [{"name": "x.conf", "contents": "[A]\n"}]}]
                },
                kernelArguments={"shouldExist": ["nosmt"]},
            ),
            config(passwd={"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}]}),
        ]
    )
    origins = result.origins
    assert origins.of("file", "/a") == Element("file", ("/a",), (0, 2), (1,))
    assert origins.of("directory", "/d") == Element("directory", ("/d",), (2,), (0,))
    assert origins.of("file", "/d") is None
    assert origins.of("user", "core") == Element("user", ("core",), (1,), (2, 3))
    assert origins.of("SSH key", "core", "k") == Element("SSH key", ("core", "k"), (2,), (3,))
    assert origins.of("drop-in", "u.service", "x.conf") == Element(
        "drop-in", ("u.service", "x.conf"), (2,), ()
    )
    assert origins.of("kernel argument", "nosmt") == Element("kernel argument", ("nosmt",), (2,), ())


def test_what_cuts_an_element_off_from_an_earlier_mention_contributes() -> None:
    result = merge_all(
        [
            config(storage={"links": [{"path": "/a", "target": "/x", "overwrite": True}]}),
            config(**files({"path": "/a"})),
            config(storage={"links": [{"path": "/a", "target": "/y"}]}),
        ]
    )
    assert result.origins.of("link", "/a") == Element("link", ("/a",), (1, 2), (0,))


def test_the_cost_is_linear() -> None:
    """Eight times the configs take eight times the time, not sixty-four times."""

    def seconds(count: int) -> float:
        inputs = [
            config(
                **files(
                    {"path": f"/{n}", "contents": data("x")}, {"path": "/shared", "append": [data(str(n))]}
                ),
                passwd={"users": [{"name": "core", "sshAuthorizedKeys": [f"key {n}"]}]},
            )
            for n in range(count)
        ]
        start = time.process_time()
        result = merge_all(inputs, plain_children=True)
        assert len(result.config.storage.files) == count + 1
        assert len(result.config.passwd.users[0].ssh_authorized_keys) == count
        return time.process_time() - start

    small = min(seconds(250) for _ in range(3))
    assert min(seconds(2000) for _ in range(3)) < 24 * small
