"""Who set what, and who was shadowed."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.machineconfig import MachineConfig
from mco.render import builtin
from mco.render.pool import render
from mco.render.provenance import Fact, Provenance
from tests.machineconfigs import controller, core, file, files, mc, units


def provenance(*configs: MachineConfig, name: str = "worker") -> Provenance:
    return render(builtin.pool(name), configs, controller(baseOSContainerImage="base")).provenance


def fact(found: Provenance, kind: str, *keys: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    wanted = found.of(kind, *keys)
    assert wanted is not None
    return wanted.set_by, wanted.shadowed


def test_a_file_names_who_set_it_and_who_was_overridden() -> None:
    found = provenance(
        mc("a", files(file("/f", "data:,a"))),
        mc("b", files(file("/f", "data:,b"), file("/g", "data:,g"))),
        mc("c"),
    )
    assert fact(found, "file", "/f") == (("b",), ("a",))
    assert fact(found, "file", "/g") == (("b",), ())
    assert found.of("file", "/h") is None


def test_parts_of_several_configs_name_them_all() -> None:
    found = provenance(
        mc("a", files(file("/f", "data:,a", mode=384))),
        mc("b", files(file("/f", "data:,b"))),
    )
    assert fact(found, "file", "/f") == (("a", "b"), ())


def test_the_pools_own_role_wins() -> None:
    found = provenance(
        mc("99-w", files(file("/f", "data:,w"))),
        mc("00-e", files(file("/f", "data:,e")), role="edge"),
        name="edge",
    )
    assert fact(found, "file", "/f") == (("00-e",), ("99-w",))


def test_a_path_that_changes_its_kind_names_what_vanished() -> None:
    found = provenance(
        mc("a", {"storage": {"directories": [{"path": "/p"}]}}), mc("b", files(file("/p", "data:,")))
    )
    assert fact(found, "file", "/p") == (("b",), ("a",))
    assert found.of("directory", "/p") is None


def test_what_took_an_element_away_for_a_while_has_its_part_in_it() -> None:
    directory = {"storage": {"directories": [{"path": "/p"}]}}
    first, last = mc("a", files(file("/p", "data:,a", mode=384))), mc("c", files(file("/p", "data:,c")))
    assert fact(provenance(first, mc("b", directory), last), "file", "/p") == (("b", "c"), ("a",))
    both = provenance(first, mc("b1", directory), mc("b2", directory), last)
    assert fact(both, "file", "/p") == (("b1", "b2", "c"), ("a",))


def test_units_dropins_keys_and_ignition_arguments() -> None:
    found = provenance(
        mc(
            "a",
            units(
                {
                    "name": "x.service",
                    "contents": "[A]\n",
                    "dropins": [{"name": "1.conf", "contents": "[A]\n"}],
                }
            )
            | core(sshAuthorizedKeys=["k1", "k2"], passwordHash="h")
            | {"kernelArguments": {"shouldExist": ["q"]}},
        ),
        mc(
            "b",
            units(
                {"name": "x.service", "enabled": True, "dropins": [{"name": "1.conf", "contents": "[B]\n"}]}
            )
            | core(sshAuthorizedKeys=["k2", "k3"])
            | {"kernelArguments": {"shouldNotExist": ["q"]}},
        ),
    )
    assert fact(found, "unit", "x.service") == (("a", "b"), ())
    assert fact(found, "drop-in", "x.service", "1.conf") == (("b",), ("a",))
    assert fact(found, "SSH key", "core", "k1") == (("a",), ())
    assert fact(found, "SSH key", "core", "k2") == (("a",), ("b",))
    assert fact(found, "SSH key", "core", "k3") == (("b",), ())
    assert fact(found, "user", "core")[0] == ("a",)
    assert fact(found, "absent kernel argument", "q") == (("b",), ("a",))
    assert found.of("kernel argument", "q") is None


def test_lists_of_the_spec_shadow_nothing() -> None:
    found = provenance(
        mc("a", kernelArguments=["x", "y"], extensions=["usbguard"]), mc("b", kernelArguments=["y", "y"])
    )
    assert fact(found, "kernelArguments", "x") == (("a",), ())
    assert fact(found, "kernelArguments", "y") == (("a", "b"), ())
    assert fact(found, "extensions", "usbguard") == (("a",), ())


@pytest.mark.parametrize("field", ["osImageURL", "baseOSExtensionsContainerImage"])
def test_images(field: str) -> None:
    def image(name: str, value: str, generated_by: str | None = None) -> MachineConfig:
        fields: dict[str, Any] = {field: value, "generated_by": generated_by}
        return mc(name, **fields)

    found = provenance(image("a", "1"), image("b", "2"), image("c", "9", "v"))
    assert fact(found, field) == (("b",), ("a", "c"))
    assert provenance(image("c", "9", "v")).of(field) is None


def test_kernel_type_and_fips() -> None:
    found = provenance(
        mc("a", kernelType="realtime", fips=True),
        mc("b", kernelType="64k-pages"),
        mc("c", kernelType="default", fips=True),
    )
    assert fact(found, "kernelType") == (("b",), ("a", "c"))
    assert fact(found, "fips") == (("a", "c"), ())
    assert provenance(mc("a", kernelType="default")).of("kernelType") is None


def test_a_label_names_a_part_for_people() -> None:
    assert (
        Fact(kind="drop-in", keys=("a.service", "b.conf"), set_by=("c",)).label == "drop-in a.service b.conf"
    )
