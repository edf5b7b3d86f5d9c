"""How Prometheus finds the components' metrics, and what it says about them (spec/operator.md 1.15, 5.4).

Only an OpenShift has a Prometheus of which we know where it runs and whom it trusts; there it gets its
targets and its alerts, elsewhere only the Services are made. Left out are alerts about metrics that nobody
exports here.
"""

from __future__ import annotations

from typing import Any

from mco.api import names
from mco.payload.source.metadata import APP_LABEL, CAPABILITY, CONTROLLER, DAEMON, included, ours

CAPABILITY_NAME = "Monitoring"
NAMESPACE = "openshift-monitoring"
MONITORS = ("monitoring.coreos.com/v1", "ServiceMonitor")
PORT, PORT_NAME = 9001, "metrics"
SECRETS = {CONTROLLER: "mcc-proxy-tls", DAEMON: "proxy-tls"}
"""Where an OpenShift puts serving certificates for the Services; the names are older than this program."""

_RULES = ("monitoring.coreos.com/v1", "PrometheusRule")
_RBAC = "rbac.authorization.k8s.io"
_READER = "prometheus-k8s"
_CA = "/etc/prometheus/configmaps/serving-certs-ca-bundle/service-ca.crt"
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def service(name: str) -> dict[str, Any]:
    """Of one of the components that are asked."""
    annotations = included() | {"service.beta.openshift.io/serving-cert-secret-name": SECRETS[name]}
    spec = {
        "ports": [{"name": PORT_NAME, "port": PORT, "protocol": "TCP", "targetPort": PORT}],
        "selector": {APP_LABEL: name},
    }
    labels = {APP_LABEL: name}
    return ours("v1", "Service", name, labels=labels, annotations=annotations) | {"spec": spec}


def service_monitor(name: str) -> dict[str, Any]:
    endpoint = {
        "bearerTokenFile": _TOKEN,
        "interval": "30s",
        "port": PORT_NAME,
        "scheme": "https",
        "tlsConfig": {"caFile": _CA, "serverName": f"{name}.{names.NAMESPACE}.svc"},
        "relabelings": [
            {
                "action": "replace",
                "regex": ";(.*)",
                "replacement": "$1",
                "separator": ";",
                "sourceLabels": ["node", "__meta_kubernetes_pod_node_name"],
                "targetLabel": "node",
            }
        ],
    }
    spec = {
        "endpoints": [endpoint],
        "namespaceSelector": {"matchNames": [names.NAMESPACE]},
        "selector": {"matchLabels": {APP_LABEL: name}},
    }
    return _monitored(*MONITORS, name, labels={APP_LABEL: name}) | {"spec": spec}


def reader() -> dict[str, dict[str, Any]]:
    """Role and binding of the cluster's Prometheus, with what their files are called."""
    rules = [
        {"apiGroups": [""], "resources": ["namespace/metrics"], "verbs": ["get"]},
        {
            "apiGroups": [""],
            "resources": ["services", "endpoints", "pods"],
            "verbs": ["get", "list", "watch"],
        },
    ]
    binding = {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": _READER},
        "subjects": [{"kind": "ServiceAccount", "name": _READER, "namespace": NAMESPACE}],
    }
    return {
        f"{_READER}-role": _monitored(f"{_RBAC}/v1", "Role", _READER) | {"rules": rules},
        f"{_READER}-rolebinding": _monitored(f"{_RBAC}/v1", "RoleBinding", _READER) | binding,
    }


def rules() -> dict[str, dict[str, Any]]:
    """By the component that they are about."""
    controller = [
        {"record": "os_image_url_override:sum", "expr": "sum(os_image_url_override)"},
        _alert(
            "MCCDrainError",
            "mcc_drain_err > 0",
            "warning",
            "Node {{ $labels.node }} cannot be drained",
            "Its drain has failed for more than an hour, and it is not updated before it succeeds. The events"
            " of the node say which Pods stay, and because of which budget.",
        ),
        _alert(
            "MCCPoolAlert",
            "mcc_pool_alert > 0",
            "warning",
            "A custom pool of node {{ $labels.node }} is ignored",
            "The node is a master, and masters belong to no custom pool. Remove the label that the pool"
            " selects.",
        ),
        _alert(
            "MCCBootImageSkewEnforcementNone",
            "mcc_boot_image_skew_enforcement_none == 1",
            "info",
            "Old boot images do not stop upgrades",
            "MachineConfiguration cluster says that they shall not. New machines may fail to join, when their"
            " boot image is too old.",
        ),
    ]
    daemon = [
        _alert(
            "MCDRebootError",
            "mcd_reboots_failed_total > 0",
            "critical",
            "Node {{ $labels.node }} does not reboot",
            "A reboot that an update needs was refused by the machine. The update is undone and tried again;"
            " the log of the daemon says what the machine answered.",
            lasting="5m",
        ),
    ]
    return {
        name: _monitored(*_RULES, name, labels={APP_LABEL: name})
        | {"spec": {"groups": [{"name": name, "rules": listed}]}}
        for name, listed in ((CONTROLLER, controller), (DAEMON, daemon))
    }


def _alert(
    name: str, expression: str, severity: str, summary: str, description: str, *, lasting: str = ""
) -> dict[str, Any]:
    alert: dict[str, Any] = {
        "alert": name,
        "annotations": {"summary": summary, "description": description},
        "expr": expression,
        "labels": {"namespace": names.NAMESPACE, "severity": severity},
    }
    return alert | ({"for": lasting} if lasting else {})


def _monitored(api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    """Only where there is OpenShift's monitoring."""
    return ours(api_version, kind, name, annotations=included() | {CAPABILITY: CAPABILITY_NAME}, **rest)
