"""Keys and kubeconfigs in the data folder.

ca.crt, ca.key             the authority that clients trust and that signs their certificates
apiserver.crt, .key        the serving certificate, renewed at each start
kubeconfig                 an admin's
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import yaml

from mco.apiserver.auth.user import MASTERS
from mco.base.errors import NotFound
from mco.pki import authority, files, kubeconfig
from mco.pki.authority import Authority

ADMIN = "mco:admin"
_AUTHORITY_NAME = "mco"
_KUBECONFIG = "kubeconfig"


class Keys(msgspec.Struct, frozen=True):
    """Where the files of the TLS layer are."""

    ca: Path
    certificate: Path
    key: Path


def authority_of(data_dir: Path) -> Authority:
    """The data folder's authority, made where there is none yet."""
    return authority.load_or_create(data_dir, _AUTHORITY_NAME, datetime.now(UTC))


def prepare(data_dir: Path, names: Sequence[str]) -> Keys:
    """Writes a fresh serving certificate for `names`."""
    keys = Keys(data_dir / "ca.crt", data_dir / "apiserver.crt", data_dir / "apiserver.key")
    pair = authority_of(data_dir).server("mco-apiserver", names, datetime.now(UTC))
    files.write(keys.key, pair.key)
    files.write(keys.certificate, pair.certificate, mode=0o644)
    return keys


def write_kubeconfig(data_dir: Path, url: str) -> Path:
    """Writes the admin's kubeconfig for `url`."""
    path = data_dir / _KUBECONFIG
    files.write(path, mint_kubeconfig(data_dir, ADMIN, (MASTERS,), server=url))
    return path


def mint_kubeconfig(data_dir: Path, user: str, groups: Sequence[str] = (), *, server: str = "") -> bytes:
    """A kubeconfig whose client certificate says `user` and `groups`, as `system:mco:controller`.

    `server` is the URL to use, by default the one in the folder's own kubeconfig; the server need not run.
    Raises NotFound when the folder has neither."""
    url = server or server_url(data_dir)
    signer = authority_of(data_dir)
    pair = signer.client(user, groups, datetime.now(UTC))
    return kubeconfig.with_certificate(url, signer.certificate_pem, user, pair)


def server_url(data_dir: Path) -> str:
    """Where the folder's server listens, or listened last. Raises NotFound when it never ran."""
    try:
        document = yaml.safe_load((data_dir / _KUBECONFIG).read_bytes())
    except FileNotFoundError as error:
        raise NotFound(
            "the folder holds no kubeconfig", path=str(data_dir), hint="start mco apiserver with it first"
        ) from error
    return str(document["clusters"][0]["cluster"]["server"])


def url_of(address: str, port: int) -> str:
    """The URL for local clients of a server that listens on `address`."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
