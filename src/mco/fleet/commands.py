"""The command lines of the components of one instance."""

from __future__ import annotations

from mco.fleet.components import Component
from mco.fleet.instance import Instance, Ports

ALONE = "--no-leader-elect"
"""The supervisor of an instance, of which there is one, runs each component once."""


def api_server(instance: Instance, ports: Ports, address: str) -> Component:
    return _component(
        instance,
        "apiserver",
        f"--data-dir={instance.api}",
        f"--port={ports.api}",
        *(f"--bind={bound}" for bound in dict.fromkeys(("127.0.0.1", address))),
    )


def operator(instance: Instance, server: str) -> Component:
    return _component(
        instance,
        "operator",
        f"--kubeconfig={instance.identity / 'operator'}",
        f"--apiserver-url={server}",
        f"--ca={instance.api / 'ca.crt'}",
        ALONE,
    )


def controller(instance: Instance, ports: Ports, settle: float) -> Component:
    return _component(
        instance,
        "controller",
        f"--kubeconfig={instance.identity / 'controller'}",
        f"--authority={instance.api}",
        f"--settle={settle:g}",
        "--collect",
        "--collect-rate=200",
        _metrics(ports.controller_metrics),
        ALONE,
    )


def config_server(instance: Instance, ports: Ports, address: str, server: str) -> Component:
    return _component(
        instance,
        "configserver",
        "start",
        f"--kubeconfig={instance.identity / 'configserver'}",
        f"--apiserver-url={server}",
        f"--bind={address}",
        f"--secure-port={ports.config}",
        f"--cert={instance.tls / 'tls.crt'}",
        f"--key={instance.tls / 'tls.key'}",
        "--require-token",
        _metrics(ports.configserver_metrics),
    )


def simulate(instance: Instance, prefix: str, nodes: int) -> Component:
    """An administrator's: it makes Nodes, with roles."""
    return _component(
        instance,
        "simulate",
        f"--kubeconfig={instance.kubeconfig}",
        f"--nodes={nodes}",
        f"--prefix={prefix}",
        "--apply=0.5-2",
        "--reboot=2-5",
        "--leases",
    )


def _metrics(port: int) -> str:
    return f"--metrics-listen=127.0.0.1:{port}"


def _component(instance: Instance, name: str, *argv: str) -> Component:
    return Component(name, (name, *argv), instance.logs / f"{name}.log")
