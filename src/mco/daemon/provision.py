"""Makes a directory-rooted host what an Ignition config says, in place of the Ignition engine.

The engine runs before a machine has a system; a folder that plays a machine has none ever. So the daemon's
own actions write what the config lists, with nothing that could be undone: a host whose provisioning was
interrupted is provisioned anew.
"""

from __future__ import annotations

from mco.api.machineconfig import MachineConfigSpec
from mco.daemon import act
from mco.host.machine import Host
from mco.ignition.types import Config
from mco.plan.node import diff, update
from mco.plan.node.actions import AnyAction, RecordConfig, SetPasswordHash
from mco.plan.node.target import EMPTY, Target


def provision(host: Host, config: Config) -> None:
    """Raises HostError and InvalidInput for what cannot be written."""
    new = Target("ignition", MachineConfigSpec(), config)
    context = act.Context(host, b"")
    for action in update.actions(EMPTY, new, diff.compare(EMPTY, new)):
        if isinstance(action, RecordConfig) or _is_of_nobody(host, action):
            continue
        prepared = act.prepare(context, action)
        if prepared is not None:
            prepared.perform()


def _is_of_nobody(host: Host, action: AnyAction) -> bool:
    """The engine makes users, a folder cannot."""
    return isinstance(action, SetPasswordHash) and host.accounts.find(action.user) is None
