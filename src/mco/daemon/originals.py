"""What the operating system shipped at a path before a config wrote there (spec/daemon.md 6.8, 6.10).

A file that a config replaces is put aside once, and comes back when no config wants the path any more. A
stamp says that nothing was there. Unlike the original, any file that was there before counts, not only a
package's: it costs nothing to keep, and somebody put it there.
"""

from __future__ import annotations

from mco.host.root import Root

FOLDER = "/etc/machine-config-daemon"


def backup_path(path: str) -> str:
    return f"{FOLDER}/orig{path}.mcdorig"


def stamp_path(path: str) -> str:
    return f"{FOLDER}/noorig{path}.mcdnoorig"


def bookkeeping(path: str) -> tuple[str, str]:
    """The paths that `keep` and `bring_back` change besides `path` itself."""
    return backup_path(path), stamp_path(path)


def keep(root: Root, path: str, *, known: bool) -> None:
    """Before a config writes to `path`. `known`: the config before had it already, so that what is there is
    ours; then only what an image-based system keeps below `/usr/etc` is an original."""
    backup, stamp = bookkeeping(path)
    if root.exists(backup) or root.exists(stamp):
        return
    shipped = _shipped(path)
    source = shipped if shipped and root.exists(shipped) else "" if known else path
    status = root.stat(source) if source else None
    if status is not None and (status.is_file or status.is_symlink):
        root.copy(source, backup)
    else:
        root.write(stamp, b"")


def bring_back(root: Root, path: str) -> None:
    """When no config wants `path` any more: the original comes back, or the file goes."""
    backup, stamp = bookkeeping(path)
    if root.exists(stamp) or not root.exists(backup):
        root.remove(path)
    else:
        root.copy(backup, path)
    root.remove(stamp)
    root.remove(backup)


def _shipped(path: str) -> str:
    return f"/usr{path}" if path.startswith("/etc/") else ""
