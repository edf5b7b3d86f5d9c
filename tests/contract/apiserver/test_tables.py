"""Tables: what `kubectl get` prints."""

from __future__ import annotations

from mco.api import names
from mco.api.crds import definitions
from tests.contract.apiserver.definitions import define, definition
from tests.contract.apiserver.endpoint import TABLE, Api, Body

GROUP = "/apis/machineconfiguration.openshift.io/v1"


async def _table(api: Api, path: str, **query: str) -> Body:
    reply = await api.request("GET", path, accept=f"{TABLE},application/json", **query)
    assert reply.status == 200
    table: Body = reply.body
    assert table["kind"] == "Table"
    return table


def _names(table: Body, *, wide: bool = False) -> list[str]:
    return [c["name"] for c in table["columnDefinitions"] if wide or not c["priority"]]


def _cells(table: Body, row: int = 0) -> dict[str, object]:
    return dict(zip(_names(table, wide=True), table["rows"][row]["cells"], strict=True))


async def test_columns_of_a_definition(api: Api, prefix: str) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "By", "type": "string", "jsonPath": r".metadata.annotations.example\.com/by", "priority": 1},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    path = await define(api, definition(prefix, additionalPrinterColumns=columns))
    metadata = {"name": "a", "annotations": {"example.com/by": "me"}}
    await api.create(path, {"metadata": metadata, "spec": {"size": 3}})
    table = await _table(api, path)
    assert _names(table) == ["Name", "Size", "Ready", "Since"]
    cells = _cells(table)
    assert (cells["Name"], cells["Size"], cells["Ready"], cells["By"]) == ("a", 3, None, "me")
    assert str(cells["Since"]).endswith("s")
    conditions = [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]
    await api.patch(f"{path}/a/status", {"status": {"conditions": conditions}})
    assert _cells(await _table(api, f"{path}/a"))["Ready"] == "True"


async def test_a_definition_without_columns_shows_the_age(api: Api, prefix: str) -> None:
    assert _names(await _table(api, await define(api, definition(prefix)))) == ["Name", "Age"]


async def test_columns_of_a_node(api: Api, prefix: str) -> None:
    body: Body = {
        "metadata": {"name": prefix, "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.2.3"},
        },
    }
    await api.create("/api/v1/nodes", body)
    table = await _table(api, f"/api/v1/nodes/{prefix}")
    assert _names(table) == ["Name", "Status", "Roles", "Age", "Version"]
    assert table["rows"][0]["cells"][1:3] == ["Ready,SchedulingDisabled", "worker"]
    assert _cells(table)["Version"] == "v1.2.3"


async def test_rows_carry_metadata_nothing_or_the_object(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", {"metadata": {"name": "a"}, "data": {"k": "v"}})
    path = f"{namespace}/configmaps"
    row = (await _table(api, path))["rows"][0]
    assert (row["object"]["kind"], row["object"]["metadata"]["name"]) == ("PartialObjectMetadata", "a")
    assert "data" not in row["object"]
    assert not (await _table(api, path, includeObject="None"))["rows"][0].get("object")
    whole = (await _table(api, path, includeObject="Object"))["rows"][0]
    assert whole["object"]["data"] == {"k": "v"}


async def test_metadata_alone_can_be_listed(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", {"metadata": {"name": "a"}, "data": {"k": "v"}})
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    body = (await api.request("GET", f"{namespace}/configmaps", accept=accept)).body
    assert body["kind"] == "PartialObjectMetadataList"
    assert "data" not in body["items"][0]


async def test_the_columns_of_our_kinds(api: Api, prefix: str) -> None:
    """spec/node.md 1.2, 1.3, 1.7."""
    for body in definitions():
        await define(api, body)
    assert _names(await _table(api, f"{GROUP}/machineconfigs")) == [
        "Name",
        "GeneratedByController",
        "IgnitionVersion",
        "Age",
    ]
    assert _names(await _table(api, f"{GROUP}/machineconfigpools")) == [
        "Name",
        "Config",
        "Updated",
        "Updating",
        "Degraded",
        "MachineCount",
        "ReadyMachineCount",
        "UpdatedMachineCount",
        "DegradedMachineCount",
        "Age",
    ]
    nodes = await _table(api, f"{GROUP}/machineconfignodes")
    assert _names(nodes) == ["Name", "PoolName", "DesiredConfig", "CurrentConfig", "Updated", "Age"]
    assert _names(nodes, wide=True)[6:] == [
        "UpdatePrepared",
        "UpdateExecuted",
        "UpdatePostActionComplete",
        "UpdateComplete",
        "Resumed",
        "UpdatedFilesAndOS",
        "CordonedNode",
        "DrainedNode",
        "RebootedNode",
        "UncordonedNode",
    ]
    body = {
        "metadata": {"name": prefix, "annotations": {names.GENERATED_BY_CONTROLLER_VERSION: "h"}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}},
    }
    await api.create(f"{GROUP}/machineconfigs", body)
    table = await _table(api, f"{GROUP}/machineconfigs/{prefix}")
    assert table["rows"][0]["cells"][:3] == [prefix, "h", "3.2.0"]
