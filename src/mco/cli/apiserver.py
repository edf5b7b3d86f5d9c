"""`mco apiserver`: the embedded API server, alone."""

from __future__ import annotations

from pathlib import Path

import click

from mco.cli.options import log_level_option


@click.command("apiserver")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where objects and keys are kept; the admin's kubeconfig is written there.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=6443, show_default=True, help="0 chooses one.")
@click.option(
    "--bind",
    multiple=True,
    default=("127.0.0.1",),
    show_default=True,
    help="Address to listen on; repeatable.",
)
@click.option("--san", multiple=True, help="Another name or address for the certificate; repeatable.")
@click.option(
    "--token-auth-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='Lines of token,user,uid,"group1,group2".',
)
@log_level_option
def command(
    data_dir: Path,
    port: int,
    bind: tuple[str, ...],
    san: tuple[str, ...],
    token_auth_file: Path | None,
    log_level: str,
) -> None:
    """Serve the API from a folder until SIGTERM or SIGINT.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    from mco.apiserver import main
    from mco.runtime import logging

    logging.configure(log_level)
    main.run(data_dir, port=port, bind=bind, names=san, token_file=token_auth_file)
