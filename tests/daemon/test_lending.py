"""What a daemon does when its node is asked for its copy of a config."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.configcopies import KEY, Request, answered, secret, secret_name
from mco.api.resources import NODES, SECRETS
from mco.daemon.configs import FOLDER
from mco.render import copies
from mco.render.naming import rendered_name
from tests.daemon.builders import config, file
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

pytestmark = pytest.mark.asyncio(loop_scope="module")

NONCES = tuple(digit * 16 for digit in "abcdef")


def rendered(text: str) -> dict[str, Any]:
    """With a name that is its hash."""
    body = config("", files=[file("/etc/text", text)], kernelType="default")
    spec: dict[str, Any] = {
        "baseOSExtensionsContainerImage": "",
        "extensions": [],
        "fips": False,
        "osImageURL": "",
    } | body["spec"]
    return body | {"metadata": {"name": rendered_name("worker", spec)}, "spec": spec}


def name_of(body: dict[str, Any]) -> str:
    name: str = body["metadata"]["name"]
    return name


async def joined(cluster: Cluster, machine: Machine, body: dict[str, Any]) -> None:
    await cluster.create(body)
    await cluster.report_of(machine.name)
    machine.serve(body)
    await machine.start()
    await cluster.done(machine.name, body)


async def ask(cluster: Cluster, machine: Machine, nonce: str, name: str) -> None:
    annotations = {names.COPY_WANTED: str(Request(nonce, name)), names.COPY_GIVEN: None}
    await cluster.client.patch(NODES, machine.name, {"metadata": {"annotations": annotations}})


async def answer(cluster: Cluster, machine: Machine, nonce: str) -> int:
    """How many parts it says that there are."""

    def said() -> bool:
        found = answered(cluster.get(machine.name))
        return found is not None and found.nonce == nonce

    await cluster.until(said, f"an answer to {nonce}")
    found = answered(cluster.get(machine.name))
    assert found is not None
    return found.parts


async def given(cluster: Cluster, machine: Machine, nonce: str, parts: int) -> bytes:
    packed = b""
    for number in range(parts):
        name = secret_name(machine.name, nonce, number)
        found = await cluster.client.get(SECRETS, name, namespace=names.NAMESPACE)
        assert found.data is not None
        packed += base64.b64decode(found.data[KEY])
    return packed


async def test_it_gives_what_it_has(cluster: Cluster, machine: Machine) -> None:
    body = rendered("given")
    await joined(cluster, machine, body)
    await ask(cluster, machine, NONCES[0], name_of(body))
    parts = await answer(cluster, machine, NONCES[0])
    assert parts == 1
    spec = copies.unpack(name_of(body), await given(cluster, machine, NONCES[0], parts))
    assert spec == body["spec"]


async def test_what_it_has_not_it_says_at_once(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine, rendered("mine"))
    await ask(cluster, machine, NONCES[0], name_of(rendered("not mine")))
    assert await answer(cluster, machine, NONCES[0]) == 0


async def test_a_copy_that_was_edited_stays_on_the_machine(cluster: Cluster, machine: Machine) -> None:
    body = rendered("edited")
    await joined(cluster, machine, body)
    evil = msgspec.json.encode(body | {"spec": body["spec"] | {"kernelArguments": ["evil"]}})
    for path in (f"{FOLDER}/{name_of(body)}.json", names.CURRENT_CONFIG_FILE):
        machine.root.write(path, evil, mode=0o600)
    await ask(cluster, machine, NONCES[0], name_of(body))
    assert await answer(cluster, machine, NONCES[0]) == 0


async def test_it_goes_on_where_it_was_ended(cluster: Cluster, machine: Machine) -> None:
    """What it made of an earlier attempt is not made again."""
    body = rendered("ended")
    await joined(cluster, machine, body)
    await machine.stop()
    await ask(cluster, machine, NONCES[0], name_of(body))
    earlier = secret(await cluster.client.get(NODES, machine.name), NONCES[0], 0, b"earlier")
    await cluster.client.create(SECRETS, earlier, namespace=names.NAMESPACE)
    await machine.start()
    assert await answer(cluster, machine, NONCES[0]) == 1
    assert await given(cluster, machine, NONCES[0], 1) == b"earlier"


async def test_requests_one_upon_the_other_disturb_no_update(cluster: Cluster, machine: Machine) -> None:
    """The last one is answered, and the machine goes where it is sent."""
    body, wanted = rendered("first " * 100_000), rendered("second")
    await joined(cluster, machine, body)
    for nonce in NONCES:
        await ask(cluster, machine, nonce, name_of(body))
    assert await answer(cluster, machine, NONCES[-1]) == 1
    await cluster.create(wanted)
    await cluster.target(machine.name, wanted)
    await cluster.done(machine.name, wanted)
    assert machine.read("/etc/text") == "second"
