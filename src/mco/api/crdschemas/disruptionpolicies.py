"""Node disruption policies, as a user sets them and as the operator merged them (spec/node.md 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from mco.api.formats import only_with
from mco.api.schema import Rule, Schema, atomic, enum, keyed, rule, string, struct

ACTIONS = ("Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None")
STATUS_ACTIONS = (*ACTIONS, "Special")

_EXPECTED = "in service name. Expected format is ${NAME}${SERVICETYPE}, where"
_SERVICE_TYPES = (
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
)


def _service() -> Schema:
    """A systemd unit's name."""
    quoted = [f'".{kind}"' for kind in _SERVICE_TYPES]
    # The original has no blank before ".snapshot".
    listed = ", ".join(quoted[:-1]).replace(', ".snapshot"', ',".snapshot"') + f" or {quoted[-1]}"
    characters = 'alphabets, digits, ":", "-", "_", ".", and "\\"'
    return string(
        maxLength=255,
        rules=[
            rule(
                f"self.matches('\\\\.({'|'.join(_SERVICE_TYPES)})$')",
                f"Invalid ${{SERVICETYPE}} {_EXPECTED} ${{SERVICETYPE}} must be one of {listed}.",
            ),
            rule(
                r"self.matches('^[a-zA-Z0-9:._\\\\-]+\\..')",
                f"Invalid ${{NAME}} {_EXPECTED} {{NAME}} must be atleast 1 character long and can only "
                f"consist of {characters}",
            ),
        ],
    )


def _alone(action: str) -> Rule:
    return rule(
        f"self.exists(x, x.type=='{action}') ? size(self) == 1 : true",
        f"{action} action can only be specified standalone, as it will override any other actions",
    )


def policies(actions: Sequence[str], most: int) -> Schema:
    """Policies for files, units and SSH keys, with these action types."""
    service = struct({"serviceName": _service()}, required=("serviceName",))
    action = struct(
        {"reload": service, "restart": service, "type": enum(*actions)},
        required=("type",),
        rules=[only_with("reload", "type", "Reload"), only_with("restart", "type", "Restart")],
    )
    listed = atomic(action, maxItems=10, rules=[_alone("Reboot"), _alone("None")])

    def policy(key: str, value: Schema) -> Schema:
        return struct({"actions": listed, key: value}, required=("actions", key))

    return struct(
        {
            "files": keyed(["path"], policy("path", string()), maxItems=most),
            "sshkey": struct({"actions": listed}, required=("actions",)),
            "units": keyed(["name"], policy("name", _service()), maxItems=most),
        }
    )
