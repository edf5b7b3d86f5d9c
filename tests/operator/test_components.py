"""What the operator runs in a cluster, on a real server: components, network policies, the config server's
certificates (spec/operator.md 1.7, 1.13, 4.2)."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography import x509

from mco.api import names, resources, tlsprofile
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import AlreadyExists
from mco.kube.wholes import Wholes
from mco.operator import components, networkpolicies
from mco.operator.servercertificates import REFRESH, ServerCertificates
from mco.payload import operands
from mco.pki import authority
from mco.plan.installation.controlleroptions import read
from tests.operator.world import Hands
from tests.servers.real import RealServer

OPERANDS = operands.load(operands.Setting(image="example/mco:1", server="https://api.example:6443"))
TLS = "machine-config-server-tls"


class Counting(Wholes):
    """How often it wrote."""

    writes = 0

    async def create(self, body: Any) -> Any:
        self.writes += 1
        return await super().create(body)

    async def patch(self, body: Any, changes: Any) -> Any:
        self.writes += 1
        return await super().patch(body, changes)


@pytest.fixture
async def client(real_apiserver: RealServer) -> Any:
    async with Client(load(real_apiserver.kubeconfig)) as made:
        with contextlib.suppress(AlreadyExists):
            await made.create(resources.NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
        yield made


async def test_network_policies(client: Client) -> None:
    """The second run writes nothing; what somebody adds to a rule goes away again."""
    wholes = Counting(client)
    await networkpolicies.apply(wholes)
    wholes.writes = 0
    await networkpolicies.apply(wholes)
    assert wholes.writes == 0
    *_, deny = networkpolicies.policies()
    await wholes.patch(deny, {"spec": {"ingress": [{}]}})
    wholes.writes = 0
    await networkpolicies.apply(wholes)
    assert wholes.writes == 1
    found = await wholes.get(deny)
    assert found is not None
    assert not found["spec"].get("ingress")


async def test_components_are_applied_once_and_waited_for(client: Client) -> None:
    """Nobody rolls them out here, so the gate stays closed; a change of somebody's is brought back."""
    wholes = Counting(client)
    gate = await components.roll_out(wholes, OPERANDS)
    assert gate is not None
    assert gate.message.startswith("daemonset machine-config-daemon is not ready")
    wholes.writes = 0
    await components.roll_out(wholes, OPERANDS)
    assert wholes.writes == 0
    daemon = OPERANDS[0].body
    await wholes.patch(daemon, {"spec": {"template": {"spec": {"hostNetwork": False}}}})
    wholes.writes = 0
    await components.roll_out(wholes, OPERANDS)
    assert wholes.writes == 1
    found = await wholes.get(daemon)
    assert found is not None
    assert found["spec"]["template"]["spec"]["hostNetwork"] is True


async def test_what_the_cluster_says_anew_reaches_the_components(client: Client) -> None:
    wholes, found = Wholes(client), OPERANDS[-1]
    for live in (
        operands.Live(verbosity=2, tls=tlsprofile.INTERMEDIATE),
        operands.Live(verbosity=4, tls=tlsprofile.profile({})),
    ):
        wanted = operands.adjusted(found, live)
        await components.roll_out(wholes, [wanted])
        stored = await wholes.get(found.body)
        assert stored is not None
        assert arguments(stored) == arguments(wanted.body)
        assert arguments(stored)[-1] == f"--v={live.verbosity}"


async def test_what_a_person_says_of_the_controllers(client: Client) -> None:
    """Reaches their arguments, and leaves them when it is taken back."""
    wholes, found = Wholes(client), OPERANDS[1]
    for options, expected in (
        ({"collect": True, "keepNewest": 2}, ["--collect", "--keep-newest=2", "--v=2"]),
        ({}, ["--v=2"]),
    ):
        live = operands.Live(verbosity=2, tls=tlsprofile.INTERMEDIATE, controller=read(options))
        await components.roll_out(wholes, [operands.adjusted(found, live)])
        stored = await wholes.get(found.body)
        assert stored is not None
        assert arguments(stored) == [*arguments(found.body), *expected]


def arguments(body: Mapping[str, Any]) -> list[str]:
    (container,) = body["spec"]["template"]["spec"]["containers"]
    args: list[str] = container["args"]
    return args


async def serving(client: Client) -> x509.Certificate:
    found = await client.get(resources.SECRETS, TLS, namespace=names.NAMESPACE)
    assert found.data
    return x509.load_pem_x509_certificate(base64.b64decode(found.data["tls.crt"]))


async def test_certificates(client: Client) -> None:
    """Made once; another host gets another certificate of the same authority; at its age an authority gets a
    successor, beside which it stays trusted."""
    clock = Hands()
    certificates = ServerCertificates(client, clock)
    bundle = await certificates.keep("api-int.example")
    first = await serving(client)
    first.verify_directly_issued_by(x509.load_pem_x509_certificate(bundle))
    assert await certificates.keep("api-int.example") == bundle
    assert await serving(client) == first
    assert await certificates.keep("10.0.0.5") == bundle
    assert await serving(client) != first
    clock.time += REFRESH
    both = await certificates.keep("10.0.0.5")
    new, old = x509.load_pem_x509_certificates(both)
    assert old == x509.load_pem_x509_certificate(bundle)
    (await serving(client)).verify_directly_issued_by(new)


async def test_a_damaged_certificate_is_made_anew(client: Client) -> None:
    certificates = ServerCertificates(client, Hands())
    await certificates.keep("api-int.example")
    damaged = {"data": {"tls.crt": base64.b64encode(b"nonsense").decode()}}
    await client.patch(resources.SECRETS, TLS, damaged, namespace=names.NAMESPACE)
    await certificates.keep("api-int.example")
    assert (await serving(client)).subject == authority.subject("api-int.example")
