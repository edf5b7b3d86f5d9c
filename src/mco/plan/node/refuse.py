"""What the daemon refuses before its first write, although a pool can be rendered with it (design.md 10,
words): whatever `render/lint` calls an error, and files that a node's daemon knows to be its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from mco.api import names
from mco.base.errors import InvalidInput
from mco.plan.node.target import Target
from mco.plan.node.update import owned_paths
from mco.render.lint import lint, lint_arguments

OWN_PATHS = (
    "/etc/machine-config-daemon/orig",
    "/etc/machine-config-daemon/noorig",
    names.NODE_KUBECONFIG_FILE,
)
"""Besides those of the lint: originals put aside, and the node's identity."""

_CONFIG = "$.spec.config"
_HINT = "correct the MachineConfig that sets it; mco validate lists everything of this kind"


def problems(new: Target) -> tuple[InvalidInput, ...]:
    """Everything in `new` that would not end as the config says, with its place and what to do."""
    return tuple(
        InvalidInput(text, subject=f"MachineConfig/{new.name}", path=path, hint=_HINT)
        for path, text in _problems(new)
    )


def _problems(new: Target) -> Iterator[tuple[str, str]]:
    for entry in lint(new.config).entries:
        if entry.kind == "error":
            yield _CONFIG + entry.path.removeprefix("$"), entry.message
    for entry in lint_arguments(new.spec.kernel_arguments or (), "$.spec.kernelArguments"):
        if entry.kind == "error":
            yield entry.path, entry.message
    for path in sorted(owned_paths(new)):
        if any(path == own or path.startswith(own + "/") for own in OWN_PATHS):
            yield f"{_CONFIG}.storage.files", f"{path} belongs to this daemon's own state"
