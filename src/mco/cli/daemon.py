"""`mco daemon`: the node agent, and what completes a first boot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mco.cli.metrics import secure_metrics_options
from mco.cli.options import log_level_option

if TYPE_CHECKING:
    from mco.runtime.scraping import Address

_ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path("/"),
    show_default=True,
    help="Root directory of the machine: / on itself, the mounted host root in a container.",
)
_FAKE = click.option(
    "--fake-host",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of a directory-rooted host, instead of a machine.",
)


@click.group(name="daemon")
def command() -> None:
    """Run the node daemon."""


@command.command()
@_ROOT
@_FAKE
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Use this identity instead of asking for one with the node's bootstrap token.",
)
@click.option(
    "--in-cluster",
    is_flag=True,
    help="Use the service account of the pod that this runs in instead.",
)
@click.option(
    "--node-name", envvar="NODE_NAME", default="", help="Name of the Node; the host name by default."
)
@click.option(
    "--register-node",
    is_flag=True,
    help="There is no kubelet: make the Node, renew its Lease and report it Ready.",
)
@secure_metrics_options
@log_level_option
def start(
    root: Path,
    fake_host: Path | None,
    kubeconfig: Path | None,
    in_cluster: bool,
    node_name: str,
    register_node: bool,
    metrics_listen: Address | None,
    metrics_secure_listen: Address | None,
    metrics_tls: Path,
    log_level: str,
) -> None:
    """Keep this machine what its config says, until SIGTERM.

    Exit codes: 0 stopped by a signal; 1 it cannot run (another daemon has the machine, no kubeconfig, the
    certificate was denied, the port for metrics is taken); 2 wrong usage.
    """
    import os

    from mco.daemon.main import Options
    from mco.daemon.main import start as run
    from mco.kube.config import HOST_VARIABLE
    from mco.runtime.logging import configure

    if in_cluster and kubeconfig is not None:
        raise click.UsageError("--in-cluster and --kubeconfig name two identities; pass one of them")
    if in_cluster and HOST_VARIABLE not in os.environ:
        raise click.UsageError(f"--in-cluster is for a pod: {HOST_VARIABLE} is not set")
    if metrics_secure_listen is not None and not in_cluster and kubeconfig is None:
        text = "--metrics-secure-listen asks the API server who may read; pass --in-cluster or --kubeconfig"
        raise click.UsageError(text)
    configure(log_level)
    options = Options(
        root=_machine(root, fake_host),
        kubeconfig=kubeconfig,
        in_cluster=in_cluster,
        node_name=node_name,
        register_node=register_node,
        metrics_listen=metrics_listen,
        metrics_secure_listen=metrics_secure_listen,
        metrics_tls=metrics_tls,
    )
    run(options)


@command.command()
@_ROOT
@_FAKE
@log_level_option
def firstboot(root: Path, fake_host: Path | None, log_level: str) -> None:
    """Complete the first boot; reboots the machine when its config needs it.

    Exit codes: 0 complete, or rebooting; 1 it failed and can be repeated; 2 wrong usage.
    """
    from mco.daemon.main import first_boot
    from mco.runtime.logging import configure

    configure(log_level)
    click.echo("rebooting" if first_boot(_machine(root, fake_host)) else "complete")


def _machine(root: Path, fake_host: Path | None) -> Path:
    if fake_host is None:
        return root
    if root != Path("/"):
        raise click.UsageError("--root and --fake-host name two machines; pass one of them")
    return fake_host / "root"
