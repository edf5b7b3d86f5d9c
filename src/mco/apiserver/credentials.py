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


class Keys(msgspec.Struct, frozen=True):
    """Where the files are."""

    ca: Path
    certificate: Path
    key: Path
    kubeconfig: Path


def authority_of(data_dir: Path) -> Authority:
    """The data folder's authority, made where there is none yet."""
    return authority.load_or_create(data_dir, _AUTHORITY_NAME, datetime.now(UTC))


def prepare(data_dir: Path, names: Sequence[str], url: str, now: datetime) -> Keys:
    """Writes a fresh serving certificate for `names` and the admin's kubeconfig for `url`."""
    keys = Keys(
        data_dir / "ca.crt", data_dir / "apiserver.crt", data_dir / "apiserver.key", data_dir / "kubeconfig"
    )
    signer = authority_of(data_dir)
    pair = signer.server("mco-apiserver", names, now)
    files.write(keys.key, pair.key)
    files.write(keys.certificate, pair.certificate, mode=0o644)
    files.write(keys.kubeconfig, _kubeconfig(signer, url, ADMIN, (MASTERS,), now))
    return keys


def mint_kubeconfig(
    data_dir: Path, user: str, groups: Sequence[str] = (), *, server: str = "", now: datetime | None = None
) -> bytes:
    """A kubeconfig whose client certificate says `user` and `groups`, as `system:mco:controller`.

    `server` is the URL to use, by default the one in the folder's own kubeconfig; the server need not run.
    Raises NotFound when the folder has neither."""
    url = server or server_url(data_dir)
    return _kubeconfig(authority_of(data_dir), url, user, groups, now or datetime.now(UTC))


def server_url(data_dir: Path) -> str:
    """Where the folder's server listens, or listened last. Raises NotFound when it never ran."""
    try:
        document = yaml.safe_load((data_dir / "kubeconfig").read_bytes())
    except FileNotFoundError as error:
        raise NotFound(
            "the folder holds no kubeconfig", path=str(data_dir), hint="start mco apiserver with it first"
        ) from error
    return str(document["clusters"][0]["cluster"]["server"])


def url_of(address: str, port: int) -> str:
    """The URL for local clients of a server that listens on `address`."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _kubeconfig(signer: Authority, url: str, user: str, groups: Sequence[str], now: datetime) -> bytes:
    pair = signer.client(user, groups, now)
    return kubeconfig.with_certificate(url, signer.certificate_pem, user, pair)
