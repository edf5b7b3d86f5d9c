"""Rendering a pool: golden names, merge rules and the original's refusals (spec/render.md 1, 13.1, 13.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.base.errors import RenderError
from mco.render import builtin
from mco.render.checks import Versions
from mco.render.pool import render
from mco.render.rendered import Rendered
from mco.render.selection import SelectingAll
from tests.machineconfigs import controller, core, file, files, mc, pool, units

KEY = "ssh-rsa " + "A" * 100 + " core@example.com"
UNIT = "[Unit]\nDescription=<x> & y\n[Install]\nWantedBy=multi-user.target"
TABBED = "[Service]\n\tExecStart=/bin/true --some-long-option=value --another-long-option=value --third\n"
HASH = "sha256-" + "0" * 64

_NULL = msgspec.structs.replace(mc("a"), spec=MachineConfigSpec(config=msgspec.Raw(b"null")))

VECTORS: list[tuple[str, list[MachineConfig], str]] = [
    ("V1", [mc("a", {})], "6da92b29d98fcd722bbf117520c22ee4"),
    ("V1 without config", [mc("a")], "6da92b29d98fcd722bbf117520c22ee4"),
    ("V1 with null", [_NULL], "6da92b29d98fcd722bbf117520c22ee4"),
    *(
        (
            f"V2 {version}",
            [
                mc(
                    "a",
                    files(file("/etc/a", "data:,hello", mode=420), version=version),
                    osImageURL="dummy-test-1",
                    baseOSExtensionsContainerImage="ext",
                )
            ],
            "72d431174900c91c591ab4a28fe13741",
        )
        for version in ("3.5.0", "3.2.0")
    ),
    (
        "V3",
        [
            mc(
                "a",
                core(sshAuthorizedKeys=[KEY, "yes"]) | {"version": "3.2.0"},
                kernelArguments=["0x1f", "a: b", "# x", "nosmt"],
                osImageURL="img",
            )
        ],
        "e72323230d1133ed9671c55605edc31f",
    ),
    (
        "V4",
        [
            mc(
                "a",
                units(
                    {"name": "x.service", "enabled": True, "contents": UNIT},
                    {"name": "t.service", "contents": TABBED},
                ),
                extensions=["usbguard"],
                fips=True,
                kernelType="realtime",
                osImageURL="img",
            )
        ],
        "170cfa096f0f373c1ed6cd2223cac186",
    ),
    (
        "V5",
        [
            mc(
                "a",
                files(file("/etc/a", "data:,one", compression="gzip", mode=420)),
                osImageURL="img",
                baseOSExtensionsContainerImage="img-ext",
            ),
            mc(
                "b",
                files(
                    file("/etc/a", "data:,two"),
                    file("/etc/b", "data:,b", overwrite=False),
                    version="3.1.0",
                ),
            ),
        ],
        "b5c0f0fd682a4f6d4155e5b60ca7f55f",
    ),
    (
        "V6",
        [mc("a", files(file("/etc/a", "data:,one", compression="")), osImageURL="img")],
        "5857a312218900fcbc46e34354eb2ff7",
    ),
    (
        "V7",
        [
            mc(
                "a",
                files(
                    {
                        "path": "/etc/a",
                        "mode": 384,
                        "user": {"name": "core"},
                        "contents": {"source": "data:,one", "verification": {"hash": HASH}},
                    }
                ),
                osImageURL="img",
            ),
            mc("b", files(file("/etc/a", "data:,two"))),
        ],
        "f2f5e40acba425d00791c7ae04ba9957",
    ),
    (
        "V8",
        [
            mc(
                "a",
                {
                    "storage": {
                        "directories": [{"path": "/etc/a"}],
                        "links": [{"path": "/etc/l", "target": "/x"}],
                    }
                },
                osImageURL="img",
            ),
            mc("b", {"storage": {"files": [file("/etc/a", "data:,x")], "directories": [{"path": "/etc/l"}]}}),
        ],
        "648a1bf42026272eea1ff0963f8637f0",
    ),
    (
        "V9",
        [
            mc(
                "a",
                {"kernelArguments": {"shouldExist": ["a", "b"], "shouldNotExist": ["c"]}},
                osImageURL="img",
            ),
            mc("b", {"kernelArguments": {"shouldExist": ["c"], "shouldNotExist": ["a", "d"]}}),
        ],
        "5cbbd4c0997be9370b871c8b33d03537",
    ),
    (
        "V10",
        [
            mc(
                "a",
                files(file("/f", append=[{"source": "data:,1"}]))
                | units(
                    {
                        "name": "u.service",
                        "enabled": True,
                        "dropins": [{"name": "10.conf", "contents": "[A]\nx=1\n"}],
                    }
                ),
                osImageURL="img",
            ),
            mc(
                "b",
                files(file("/f", append=[{"source": "data:,2"}]))
                | units(
                    {
                        "name": "u.service",
                        "mask": True,
                        "dropins": [{"name": "20.conf"}, {"name": "10.conf", "contents": "[A]\nx=2\n"}],
                    }
                ),
            ),
        ],
        "78744f0f55304ac720bbae1a171ec7a0",
    ),
    (
        "V11",
        [
            mc(
                "a",
                core(groups=["a", "b"], sshAuthorizedKeys=["k1", "k2"], passwordHash="h1"),
                osImageURL="img",
            ),
            mc(
                "b",
                {
                    "passwd": {
                        "users": [
                            {"name": "core", "groups": ["b", "c"], "sshAuthorizedKeys": ["k2", "k3"]},
                            {"name": "x"},
                        ]
                    }
                },
            ),
        ],
        "aae6ead03c4a83afc63f868b82d68845",
    ),
]


# Allowed by 3.0, which takes nothing for a source.
OLD_AND_INVALID = {"ignition": {"version": "3.0.0", "config": {"merge": [{}]}}}


def rendered(*configs: MachineConfig, name: str = "worker", **images: str) -> Rendered:
    return render(builtin.pool(name), configs, controller(**images))


def refused(*configs: MachineConfig, name: str = "worker") -> RenderError:
    with pytest.raises(RenderError) as caught:
        rendered(*configs, name=name)
    return caught.value


@pytest.mark.parametrize(("configs", "digest"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
def test_golden_names(configs: Sequence[MachineConfig], digest: str) -> None:
    assert rendered(*configs).name == f"rendered-worker-{digest}"


def test_the_suffix_does_not_depend_on_the_pool_or_on_the_order_of_the_inputs() -> None:
    configs = [mc("b", files(file("/b", "data:,b"))), mc("a", files(file("/a", "data:,a")))]
    one, two = rendered(*configs), rendered(*reversed(configs), name="edge")
    assert two.name.startswith("rendered-edge-")
    assert one.name.rpartition("-")[2] == two.name.rpartition("-")[2]


class TestObject:
    def test_it_is_ready_to_create(self) -> None:
        result = render(
            pool("worker"),
            [mc("b"), mc("a", fips=True)],
            controller(baseOSContainerImage="base", annotations={names.RELEASE_IMAGE_VERSION: "4.99"}),
            Versions(hash="abc"),
        )
        made = result.machine_config
        assert made["apiVersion"] == "machineconfiguration.openshift.io/v1"
        assert made["kind"] == "MachineConfig"
        assert made["metadata"] == {
            "name": result.name,
            "annotations": {
                names.GENERATED_BY_CONTROLLER_VERSION: "abc",
                names.RELEASE_IMAGE_VERSION: "4.99",
            },
            "ownerReferences": [
                {
                    "apiVersion": "machineconfiguration.openshift.io/v1",
                    "kind": "MachineConfigPool",
                    "name": "worker",
                    "uid": "uid-worker",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }
        assert made["spec"] == {
            "baseOSExtensionsContainerImage": "",
            "config": {"ignition": {"version": "3.5.0"}},
            "extensions": [],
            "fips": True,
            "kernelArguments": [],
            "kernelType": "default",
            "osImageURL": "base",
        }
        assert result.source == ("a", "b")
        assert not result.overridden

    def test_the_release_version_is_there_even_when_unknown(self) -> None:
        annotations = rendered(mc("a")).machine_config["metadata"]["annotations"]
        assert annotations[names.RELEASE_IMAGE_VERSION] == ""

    def test_it_decodes_as_a_machine_config_that_renders_to_itself(self) -> None:
        first = rendered(mc("a", files(file("/a", "data:,a")), kernelArguments=["x"]))
        body = first.machine_config
        body["metadata"]["labels"] = {names.ROLE_LABEL: "worker"}
        again = msgspec.json.decode(msgspec.json.encode(body), type=MachineConfig)
        assert rendered(again).name == first.name


class TestImages:
    def test_the_last_one_wins_over_the_base_image(self) -> None:
        images = [
            mc(f"{i}", osImageURL=url) for i, url in enumerate(["", "dummy-test-1", "dummy-change", ""])
        ]
        result = rendered(*images, baseOSContainerImage="base")
        assert result.spec["osImageURL"] == "dummy-change"
        assert result.overridden
        assert result.machine_config["metadata"]["annotations"][names.OS_IMAGE_OVERRIDDEN] == "true"
        assert "not pinned to a digest" in result.warnings[0]

    def test_a_digest_needs_no_warning(self) -> None:
        assert rendered(mc("a", osImageURL="img@sha256:0")).warnings == ()

    def test_generated_configs_override_nothing(self) -> None:
        result = rendered(mc("a", osImageURL="x", generated_by="v"), baseOSContainerImage="base")
        assert result.spec["osImageURL"] == "base"
        assert not result.overridden

    def test_an_empty_annotation_does_not_make_it_generated(self) -> None:
        assert rendered(mc("a", osImageURL="x", generated_by="")).spec["osImageURL"] == "x"

    def test_both_images_are_independent(self) -> None:
        result = rendered(
            mc("a", baseOSExtensionsContainerImage="e"),
            baseOSContainerImage="base",
            baseOSExtensionsContainerImage="base-ext",
        )
        assert (result.spec["osImageURL"], result.spec["baseOSExtensionsContainerImage"]) == ("base", "e")

    def test_the_controllers_old_image_field_is_not_used(self) -> None:
        assert rendered(mc("a"), osImageURL="old").spec["osImageURL"] == ""

    def test_a_stream_and_an_override_exclude_each_other(self) -> None:
        with pytest.raises(RenderError) as caught:
            render(pool(osImageStream={"name": "s"}), [mc("a", osImageURL="x")], ControllerConfig())
        assert str(caught.value) == (
            "could not generate rendered MachineConfig: cannot override MachineConfig osImageURL and set "
            "MachineConfigPool spec.osImageStream.name simultaneously"
        )


class TestFields:
    def test_lists_are_joined_in_merge_order_and_keep_duplicates(self) -> None:
        result = rendered(
            mc("b", kernelArguments=["x", "y"], extensions=["usbguard"]),
            mc("a", kernelArguments=["y", "z"], extensions=["usbguard", "ipsec"]),
        )
        assert result.spec["kernelArguments"] == ["y", "z", "x", "y"]
        assert result.spec["extensions"] == ["usbguard", "ipsec", "usbguard"]

    @pytest.mark.parametrize(
        ("types", "result"),
        [
            ([], "default"),
            (["default"], "default"),
            (["realtime", "default"], "realtime"),
            (["realtime", ""], "realtime"),
            (["realtime", "64k-pages"], "64k-pages"),
            (["64k-pages", "realtime"], "realtime"),
        ],
    )
    def test_the_last_special_kernel_wins(self, types: list[str], result: str) -> None:
        configs = [mc(f"{i}", kernelType=kind) for i, kind in enumerate(types)]
        assert rendered(*configs, mc("z")).spec["kernelType"] == result

    def test_kernel_headers_need_the_default_kernel(self) -> None:
        error = refused(mc("a", {}, extensions=["kernel-devel"]), mc("b", kernelType="realtime"))
        assert str(error).endswith(
            "installing kernel-devel extension is not supported with kernelType: realtime"
        )

    def test_all_fields_are_combined(self) -> None:
        result = rendered(
            mc("1", osImageURL="new"),
            mc("2", kernelArguments=["a"]),
            mc("3", kernelType="realtime"),
            mc("4", {}, extensions=["usbguard"]),
            mc("5", core(sshAuthorizedKeys=["5678"])),
            mc("6", fips=True),
            mc("7", core(passwordHash="hash")),
            mc("8", core(sshAuthorizedKeys=["1234"])),
            mc("9", {"version": "2.2.0"}),
        )
        user = {"name": "core", "passwordHash": "hash", "sshAuthorizedKeys": ["5678", "1234"]}
        assert result.spec["config"]["passwd"]["users"] == [user]
        assert (result.spec["osImageURL"], result.spec["kernelType"]) == ("new", "realtime")
        assert result.spec["fips"] is True


def sources(result: Rendered) -> dict[str, Any]:
    return {f["path"]: f["contents"] for f in result.spec["config"]["storage"]["files"]}


class TestOrder:
    def test_a_pools_own_configs_win_whatever_they_are_called(self) -> None:
        result = rendered(
            mc("99-worker", files(file("/a", "data:,worker"))),
            mc("00-infra", files(file("/a", "data:,infra")), role="infra"),
            name="infra",
        )
        assert result.source == ("99-worker", "00-infra")
        assert sources(result)["/a"]["source"] == "data:,infra"

    def test_contents_and_compression_stay_together(self) -> None:
        result = rendered(
            mc("aaa", files(file("/1", "data:,a"))),
            mc("bbb", files(file("/1", "data:,b"))),
            mc("ccc", files(file("/2", "data:,c")), role="infra"),
            mc("ddd", files(file("/2", "data:,d", compression="gzip"))),
            name="infra",
        )
        assert sources(result) == {"/1": {"source": "data:,b"}, "/2": {"source": "data:,c"}}

    def test_names_are_ordered_by_their_bytes(self) -> None:
        assert rendered(mc("b"), mc("B"), mc("a-1"), mc("a.1")).source == ("B", "a-1", "a.1", "b")

    def test_files_overwrite_unless_they_say_otherwise(self) -> None:
        result = rendered(mc("a", files(file("/a", "data:,a"), file("/b", "data:,b", overwrite=False))))
        assert [f["overwrite"] for f in result.spec["config"]["storage"]["files"]] == [True, False]


class TestSelection:
    def test_only_matching_labels_take_part(self) -> None:
        result = render(
            builtin.pool("master"),
            [mc("a", role="master"), mc("b"), mc("c", role="master"), mc("d", role=None)],
            ControllerConfig(),
        )
        assert result.source == ("a", "c")

    @pytest.mark.parametrize(
        ("selector", "text"),
        [
            ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
            ({"matchExpressions": [{"key": "r", "operator": "In", "values": ["z", "x"]}]}, "r in (x,z)"),
            ({"matchExpressions": [{"key": "r", "operator": "In", "values": ["x"]}]}, "r in (x)"),
            (
                {
                    "matchLabels": {"m": ""},
                    "matchExpressions": [
                        {"key": "z", "operator": "Exists"},
                        {"key": "n", "operator": "NotIn", "values": ["1"]},
                        {"key": "d", "operator": "DoesNotExist"},
                    ],
                },
                "!d,m=,n notin (1),z",
            ),
            (None, ""),
        ],
    )
    def test_nothing_selected_names_the_selector(self, selector: Any, text: str) -> None:
        with pytest.raises(RenderError) as caught:
            render(pool(machineConfigSelector=selector), [mc("q", role="q")], ControllerConfig())
        assert str(caught.value) == f"no MachineConfigs found matching selector {text}"
        assert caught.value.subject == "MachineConfigPool/worker"

    def test_an_empty_selector_is_left_alone(self) -> None:
        with pytest.raises(SelectingAll):
            render(pool(machineConfigSelector={}), [mc("a")], ControllerConfig())

    def test_a_config_without_labels_cannot_be_merged(self) -> None:
        wanted = {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
        with pytest.raises(RenderError) as caught:
            render(pool(machineConfigSelector=wanted), [mc("a", role=None)], ControllerConfig())
        text = "could not generate rendered MachineConfig: cannot find label in MachineConfig a"
        assert str(caught.value) == text


class TestChecks:
    @pytest.mark.parametrize(
        ("config", "text", "path"),
        [
            (mc("a", kernelType="fast"), "kernelType=fast is invalid", "$.spec.kernelType"),
            (
                mc("a", files(file("/a", "data:,a", mode=0o1777))),
                "invalid mode 01777 for /a, cannot exceed 0777",
                "$.spec.config.storage.files.0.mode",
            ),
            (
                mc("a", {}, extensions=["usbguard", "x", "y"]),
                "invalid extensions found: [x y]",
                "$.spec.extensions",
            ),
            (
                mc("a", {"version": ""}),
                "parsing Ignition config failed: invalid version. "
                "Supported spec versions: 2.2,3.0,3.1,3.2,3.3,3.4,3.5",
                None,
            ),
            (
                mc("a", {"version": "3.99.0"}),
                "parsing Ignition config failed: unknown version. "
                "Supported spec versions: 2.2,3.0,3.1,3.2,3.3,3.4,3.5",
                None,
            ),
            (
                mc("a", files(file("etc/a", "data:,a"))),
                "parsing Ignition config spec v3 failed with error: config is not valid\n"
                "Report: error at $.storage.files.0.path, line 1 col 61: path not absolute\n",
                "$.spec.config.storage.files.0.path",
            ),
        ],
    )
    def test_the_first_bad_input_is_named(self, config: MachineConfig, text: str, path: str | None) -> None:
        error = refused(mc("0"), config)
        assert str(error) == f"could not generate rendered MachineConfig: {text}"
        assert error.subject == "MachineConfig/a"
        if path:
            assert error.path == path

    def test_an_old_config_must_be_valid_by_the_new_rules_too(self) -> None:
        error = refused(mc("a", {"version": "3.0.0"}), mc("b", OLD_AND_INVALID))
        assert str(error) == (
            "could not generate rendered MachineConfig: invalid ignition V3 config found: "
            "error at $.ignition.config.merge.0: source is required\n"
        )
        assert (error.subject, error.path) == ("MachineConfig/b", "$.spec.config.ignition.config.merge.0")

    def test_extensions_are_not_looked_at_without_a_config(self) -> None:
        assert rendered(mc("a", extensions=["anything"])).spec["extensions"] == ["anything"]

    def test_inputs_are_checked_by_name(self) -> None:
        assert "kernelType=b" in str(refused(mc("c", kernelType="c"), mc("b", kernelType="b")))

    def test_characters_that_the_original_cannot_hash_fail_as_there(self) -> None:
        error = refused(mc("a", kernelArguments=["a\x7f"]))
        assert str(error) == (
            "could not generate rendered MachineConfig: error converting JSON to YAML: yaml: "
            "control characters are not allowed"
        )


class TestVersions:
    MINE = Versions(raw="v1", hash="h1", checked=True)

    def attempt(self, annotations: dict[str, str], *configs: MachineConfig) -> str:
        try:
            render(builtin.pool("worker"), configs, controller(annotations=annotations), self.MINE)
        except RenderError as error:
            return str(error).removeprefix("could not generate rendered MachineConfig: ")
        return ""

    def test_the_controller_config_must_be_of_my_version(self) -> None:
        assert self.attempt({names.GENERATED_BY_VERSION: "v1"}, mc("a")) == ""
        assert self.attempt({names.GENERATED_BY_VERSION: "v0"}, mc("a")) == (
            "ignoring controller config generated from v0 (my version: v1)"
        )
        assert self.attempt({}, mc("a")) == (
            "ignoring controller config generated without machineconfiguration.openshift.io/"
            "generated-by-version annotation (my version: v1)"
        )

    def test_generated_configs_must_be_of_my_version(self) -> None:
        mine = {names.GENERATED_BY_VERSION: "v1"}
        assert self.attempt(mine, mc("a", generated_by="h1"), mc("b", generated_by=""), mc("c")) == ""
        assert self.attempt(mine, mc("a", generated_by="h0")) == (
            "ignoring MC a generated by older version h0 (my version: h1)"
        )

    def test_offline_no_version_matters(self) -> None:
        assert rendered(mc("a", generated_by="whoever")).source == ("a",)


def old(name: str, *users: str) -> MachineConfig:
    """A config of Ignition 2.2 that is valid; with users other than core it cannot be converted."""
    return mc(name, {"version": "2.2.0", "passwd": {"users": [{"name": user} for user in users]}})


class TestOldIgnition:
    def test_it_is_converted(self) -> None:
        assert rendered(old("a", "core")).spec["config"] == {
            "ignition": {"version": "3.5.0"},
            "passwd": {"users": [{"name": "core"}]},
        }

    def test_a_failed_conversion_comes_after_the_checks_of_all_inputs(self) -> None:
        text = "unexpected user with name: x. Only core user is supported"
        assert text in str(refused(old("a", "x"), mc("b")))
        assert refused(old("a", "x"), mc("b")).subject == "MachineConfig/a"
        assert "kernelType=y is invalid" in str(refused(old("a", "x"), mc("b", kernelType="y")))


class TestSize:
    def test_a_result_that_cannot_be_stored_is_still_there_with_its_error(self) -> None:
        big = "data:," + "a" * 1_000_000
        result = rendered(mc("a", files(file("/a", big))), mc("b", files(file("/b", big))))
        error = result.too_large
        assert error is not None
        assert str(error) == (
            f"size validation failed: rendered MachineConfig {result.name} is too large "
            f"({result.size} bytes, max 1572864 bytes)"
        )
        assert "MachineConfig/a" in error.hint

    def test_the_limit_itself_is_allowed(self) -> None:
        spare = names.MAX_RENDERED_BYTES - rendered(mc("a", files(file("/a", "data:,")))).size
        assert rendered(mc("a", files(file("/a", "data:," + "a" * spare)))).too_large is None
        assert rendered(mc("a", files(file("/a", "data:," + "a" * (spare + 1))))).too_large is not None

    def test_the_size_is_that_of_the_object_as_json(self) -> None:
        result = rendered(mc("a", files(file("/a", "data:,%3C")), kernelArguments=["<&>"]))
        body = {key: value for key, value in result.machine_config.items() if key in ("metadata", "spec")}
        assert result.size == len(msgspec.json.encode(body)) + 3 * 5  # each of <&> is written as \u00XX
