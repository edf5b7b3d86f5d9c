"""What Prometheus is told about the components (spec/operator.md 1.15, 5.4)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mco.api import names
from mco.operator.networkpolicies import policies
from mco.payload.filters import Selection, left_out
from mco.payload.manifest import Manifest
from mco.payload.source import files, monitoring
from mco.payload.source.metadata import CONTROLLER, DAEMON
from mco.plan.node import metrics as daemon_metrics
from mco.plan.pool import metrics as controller_metrics

COMPONENTS = (CONTROLLER, DAEMON)
MANIFESTS = files.manifests()
WORKLOADS = {body["metadata"]["name"]: body for body in files.operands().values()}
EXPORTED = {metric.name for metric in (*controller_metrics.METRICS, *daemon_metrics.METRICS)}
# spec/operator.md 5.4: expression, for, severity
ALERTS = {
    "MCCDrainError": ("mcc_drain_err > 0", None, "warning"),
    "MCCPoolAlert": ("mcc_pool_alert > 0", None, "warning"),
    "MCCBootImageSkewEnforcementNone": ("mcc_boot_image_skew_enforcement_none == 1", None, "info"),
    "MCDRebootError": ("mcd_reboots_failed_total > 0", "5m", "critical"),
}


def found(kind: str) -> dict[str, dict[str, Any]]:
    return {body["metadata"]["name"]: body for body in MANIFESTS.values() if body["kind"] == kind}


def container(name: str) -> dict[str, Any]:
    (only,) = WORKLOADS[name]["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def rules() -> list[dict[str, Any]]:
    groups = (group for body in found("PrometheusRule").values() for group in body["spec"]["groups"])
    return [rule for group in groups for rule in group["rules"]]


def test_alerts_are_the_original_s() -> None:
    alerts = {rule["alert"]: rule for rule in rules() if "alert" in rule}
    assert {
        name: (rule["expr"], rule.get("for"), rule["labels"]["severity"]) for name, rule in alerts.items()
    } == ALERTS
    for rule in alerts.values():
        assert rule["labels"]["namespace"] == names.NAMESPACE
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
    assert [r["record"] for r in rules() if "record" in r] == ["os_image_url_override:sum"]


def test_a_rule_is_about_something_that_is_exported() -> None:
    for rule in rules():
        assert set(re.findall(r"[a-z_]{8,}", rule["expr"])) <= EXPORTED


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_service_leads_to_the_listener(name: str) -> None:
    service = found("Service")[name]
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"], port["name"]) == (9001, 9001, "metrics")
    assert (
        service["spec"]["selector"].items()
        <= WORKLOADS[name]["spec"]["template"]["metadata"]["labels"].items()
    )
    assert {"--metrics-listen=127.0.0.1:8797", "--metrics-secure-listen=:9001"} <= set(
        container(name)["args"]
    )
    assert [p["containerPort"] for p in container(name)["ports"]] == [9001]


@pytest.mark.parametrize(("name", "secret"), [(CONTROLLER, "mcc-proxy-tls"), (DAEMON, "proxy-tls")])
def test_the_service_s_certificate_is_where_the_listener_looks(name: str, secret: str) -> None:
    annotations = found("Service")[name]["metadata"]["annotations"]
    assert annotations["service.beta.openshift.io/serving-cert-secret-name"] == secret
    volumes = WORKLOADS[name]["spec"]["template"]["spec"]["volumes"]
    (volume,) = (v["name"] for v in volumes if v.get("secret") == {"secretName": secret, "optional": True})
    (mount,) = (m for m in container(name)["volumeMounts"] if m["name"] == volume)
    assert f"--metrics-tls={mount['mountPath']}" in container(name)["args"]
    assert mount["readOnly"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_the_monitor_asks_the_service(name: str) -> None:
    (endpoint,) = found("ServiceMonitor")[name]["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["scheme"], endpoint["interval"]) == ("metrics", "https", "30s")
    assert endpoint["tlsConfig"]["serverName"] == f"{name}.openshift-machine-config-operator.svc"
    selector = found("ServiceMonitor")[name]["spec"]["selector"]["matchLabels"]
    assert selector == found("Service")[name]["metadata"]["labels"]


def test_the_listener_s_port_is_the_one_that_is_let_through() -> None:
    (policy,) = (body for body in policies() if body["metadata"]["name"] == f"allow-{CONTROLLER}")
    assert policy["spec"]["ingress"] == [{"ports": [{"port": 9001, "protocol": "TCP"}]}]


@pytest.mark.parametrize("file", [name for name in MANIFESTS if re.search("servicemonitor|prometheus", name)])
def test_only_openshift_s_monitoring_is_given_anything(file: str) -> None:
    manifest = Manifest(file, 1, MANIFESTS[file])
    assert left_out(manifest, Selection()) == "disabled capabilities: Monitoring"
    assert left_out(manifest, Selection(capabilities=frozenset({monitoring.CAPABILITY_NAME}))) == ""
