"""What Prometheus is told by a running config server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from mco.api.resources import MACHINE_CONFIG_POOLS
from mco.configserver.process import Ports
from tests.configserver.clients import ask
from tests.configserver.installation import Installation, installation
from tests.configserver.test_cluster import NEWEST, create_token, eventually
from tests.scrape import ask as scrape
from tests.scrape import families, series

TABLE = {
    "mcs_requests": ("counter", {"pool", "code", "version"}),
    "mcs_joins": ("counter", {"pool", "result"}),
    "mcs_request_duration_seconds": ("histogram", set()),
}
# What is asked, with which Accept and Authorization, and as what it is counted: code, pool, version.
OLD = "application/vnd.coreos.ignition+json;version=3.1.0"
ASKED = (
    (("GET", "/config/worker", NEWEST, ""), ("200", "worker", "3.5.0")),
    (("GET", "/config/worker", NEWEST, ""), ("200", "worker", "3.5.0")),
    (("GET", "/config/worker", OLD, ""), ("200", "worker", "3.1.0")),
    (("HEAD", "/config/worker", NEWEST, ""), ("200", "worker", "")),
    (("GET", "/config/worker", NEWEST.replace("3.5.0", "9.0.0"), ""), ("400", "worker", "")),
    (("GET", "/config/worker", NEWEST, "Bearer abc123.ffffffffffffffff"), ("401", "worker", "")),
    (("GET", "/config/no-such-pool", NEWEST, ""), ("404", "", "")),
    (("GET", "/config/another", NEWEST, "Bearer abc123.ffffffffffffffff"), ("401", "", "")),
    (("POST", "/config/worker", NEWEST, ""), ("405", "", "")),
    (("GET", "/healthz", "", ""), ("200", "", "")),
)


@contextlib.asynccontextmanager
async def served(cluster: Installation) -> AsyncIterator[Ports]:
    """By a server that knows the join token abc123."""
    await create_token(cluster)
    async with cluster.config_server() as ports:
        yield ports


async def test_each_request_is_counted_once(tmp_path: Path) -> None:
    async with installation(tmp_path) as cluster, served(cluster) as ports:
        url = f"http://127.0.0.1:{ports.metrics}/metrics"
        for (method, target, accept, authorization), (code, _, _) in ASKED:
            shown = {"Authorization": authorization} if authorization else {}
            answer = await ask(ports.insecure, method, target, None, Accept=accept, **shown)
            assert answer.status == int(code)
        text = (await scrape(url)).body
        found = families(text)
        assert {name: metric.type for name, metric in found.items()} == {
            n: row[0] for n, row in TABLE.items()
        }
        for name, metric in found.items():
            labels = {frozenset(sample.labels) - {"le"} for sample in metric.samples}
            assert labels == {frozenset(TABLE[name][1])}
        values = series(text)
        counted = [key for _, key in ASKED]
        requests = {key[1:]: value for key, value in values.items() if key[0] == "mcs_requests_total"}
        assert requests == {key: counted.count(key) for key in counted}
        joins = {key[1:]: value for key, value in values.items() if key[0] == "mcs_joins_total"}
        assert joins == {("worker", "accepted"): 3, ("worker", "refused"): 1, ("", "refused"): 1}
        assert values["mcs_request_duration_seconds_count",] == len(ASKED)
        assert values["mcs_request_duration_seconds_bucket", "+Inf"] == len(ASKED)
        assert 0 < values["mcs_request_duration_seconds_sum",] < 60

        await cluster.client.delete(MACHINE_CONFIG_POOLS, "worker")

        async def pools() -> set[str]:
            return {key[2] for key in series((await scrape(url)).body) if key[0] == "mcs_requests_total"}

        await eventually({""}, pools)
