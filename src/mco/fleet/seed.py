"""What a new instance needs before the first machine can boot: something to render for each built-in pool.

And the policies: one keeps people from deleting a rendered config that is in use, one says which Secrets a
node may make.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from mco.api import names, resources
from mco.api.admission import binding_object, policy_object
from mco.api.policies import EMBEDDED
from mco.fleet.patience import patiently
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists


def base_config(role: str) -> dict[str, Any]:
    """An empty MachineConfig. Without a template controller a pool would have no input, and could not be
    rendered."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": f"00-{role}", "labels": {names.ROLE_LABEL: role}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}},
    }


async def seed(client: Client) -> None:
    """Adds what is missing; never touches what is there."""
    for role in (names.MASTER, names.WORKER):
        with contextlib.suppress(AlreadyExists):
            await patiently(partial(client.create, resources.MACHINE_CONFIGS, base_config(role)))
    await guard(client)


async def guard(client: Client) -> None:
    """The admission policies, as this version has them; an administrator's business."""
    policies = [(resources.ADMISSION_POLICIES, policy_object(policy)) for policy in EMBEDDED]
    bindings = [(resources.ADMISSION_POLICY_BINDINGS, binding_object(policy)) for policy in EMBEDDED]
    for resource, body in (*policies, *bindings):
        try:
            await patiently(partial(client.create, resource, body))
        except AlreadyExists:
            spec = {"spec": body["spec"]}
            await patiently(partial(client.patch, resource, body["metadata"]["name"], spec))
