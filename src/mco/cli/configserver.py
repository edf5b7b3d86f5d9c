"""`mco configserver`: serves first-boot configs, from a cluster or from an installation's files."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mco.cli.metrics import metrics_option
from mco.cli.options import F, kubeconfig_option, log_level_option

if TYPE_CHECKING:
    from mco.configserver.process import Listeners


_LISTENER_OPTIONS = (
    click.option(
        "--secure-port", type=click.IntRange(0, 65535), default=22623, show_default=True, help="HTTPS port."
    ),
    click.option(
        "--insecure-port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=True,
        help="Plain HTTP port with the same contents; 0 is off. The original's is 22624.",
    ),
    click.option("--bind", default="", help="Address to listen on; all if left out."),
    click.option(
        "--cert",
        type=click.Path(path_type=Path),
        default=Path("/etc/ssl/mcs/tls.crt"),
        show_default=True,
        help="Serving certificate, PEM; read again when it changes.",
    ),
    click.option(
        "--key",
        type=click.Path(path_type=Path),
        default=Path("/etc/ssl/mcs/tls.key"),
        show_default=True,
        help="Its private key, PEM.",
    ),
    click.option(
        "--tls-cipher-suites",
        default="",
        help="Suites of TLS 1.2, comma separated; Intermediate if left out.",
    ),
    click.option(
        "--tls-min-version", default="VersionTLS12", show_default=True, help="VersionTLS12 or VersionTLS13."
    ),
    click.option(
        "--payload-version", default="", help="Version of the release this belongs to, for the log."
    ),
    metrics_option,
    log_level_option,
)


def listener_options(function: F) -> F:
    for option in reversed(_LISTENER_OPTIONS):
        function = option(function)
    return function


@click.group()
def command() -> None:
    """Serve the config of its pool to each machine that boots for the first time."""


@command.command()
@kubeconfig_option()
@click.option(
    "--apiserver-url", required=True, help="URL of the API as machines reach it; goes to each of them."
)
@click.option("--require-token", is_flag=True, help="Serve only machines that show a join token.")
@click.option(
    "--bootstrap-token-dir",
    type=click.Path(path_type=Path),
    default=Path("/etc/mcs/bootstrap-token"),
    show_default=True,
    help="Folder with `token` and `ca.crt` for machines without a join token.",
)
@listener_options
def start(
    kubeconfig: Path | None,
    apiserver_url: str,
    require_token: bool,
    bootstrap_token_dir: Path,
    **listening: Any,
) -> None:
    """Serve what a cluster says.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    from mco.configserver.cluster import Access
    from mco.configserver.process import run_cluster
    from mco.kube.config import load

    listeners = _prepare(listening)
    cluster = load(kubeconfig)
    access = Access(server=apiserver_url, token_folder=bootstrap_token_dir, authorities=cluster.ca.read())
    _run(run_cluster(cluster, access, listeners, require_token=require_token))


@command.command()
@click.option(
    "--server-basedir",
    type=click.Path(path_type=Path),
    default=Path("/etc/mcs/bootstrap"),
    show_default=True,
    help="Folder with machine-pools, machine-configs and controller-config.",
)
@click.option(
    "--bootstrap-kubeconfig",
    type=click.Path(path_type=Path),
    default=Path("/etc/kubernetes/kubeconfig"),
    show_default=True,
    help="The kubeconfig that machines get.",
)
@click.option(
    "--bootstrap-certs",
    multiple=True,
    metavar="REGISTRY=FILE",
    help="Authority of a registry, a file in the base folder; repeatable.",
)
@listener_options
def bootstrap(
    server_basedir: Path, bootstrap_kubeconfig: Path, bootstrap_certs: tuple[str, ...], **listening: Any
) -> None:
    """Serve an installation's files to its first machines.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    import msgspec

    from mco.configserver.bootstrap import BootstrapConfigs, tls_profile
    from mco.configserver.process import run_bootstrap

    listeners = _prepare(listening)
    if not listening["tls_cipher_suites"]:
        listeners = msgspec.structs.replace(listeners, profile=tls_profile())
    configs = BootstrapConfigs(server_basedir, bootstrap_kubeconfig, bootstrap_certs)
    _run(run_bootstrap(configs, listeners))


def _prepare(listening: dict[str, Any]) -> Listeners:
    from mco.configserver.process import Listeners
    from mco.configserver.tls import profile
    from mco.runtime import logging, version

    logging.configure(listening["log_level"])
    logging.Logger("mco.configserver").info(
        "starting", version=version.RAW, payload_version=listening["payload_version"]
    )
    return Listeners(
        certificate=listening["cert"],
        key=listening["key"],
        profile=profile(listening["tls_cipher_suites"].split(","), listening["tls_min_version"]),
        bind=listening["bind"],
        secure_port=listening["secure_port"],
        insecure_port=listening["insecure_port"] or None,
        metrics=listening["metrics_listen"],
    )


def _run(main: Coroutine[Any, Any, None]) -> None:
    import uvloop

    from mco.runtime.limits import raise_file_limit

    raise_file_limit()
    uvloop.run(main)
