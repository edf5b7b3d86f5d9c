"""The shared value formats of spec/node.md 1.1 wherever a kind has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.contract.crds.cases import Body, Case, Kind, Step

HEX = "0123456789abcdef" * 4
IMAGE = f"quay.io/openshift/os@sha256:{HEX}"

DIGEST_TEXT = "the OCI Image reference must end with a valid '@sha256:<digest>' suffix"
NAME_TEXT = "the OCI Image name should follow the host[:port][/namespace]/name format"
TAG_TEXT = "Or it must be a valid .svc followed by a port, repository, image name, and tag."
SUBDOMAIN_TEXT = "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"

DIGESTS = {
    "host and name": (f"quay.io/os@sha256:{HEX}", ""),
    "namespace": (IMAGE, ""),
    "port": (f"registry.example.com:5000/team/os@sha256:{HEX}", ""),
    "dots and underscores": (f"registry.example.com/te_am-1/o.s_x@sha256:{HEX}", ""),
    "tag": ("quay.io/openshift/os:latest", DIGEST_TEXT),
    "nothing after the name": ("quay.io/openshift/os", DIGEST_TEXT),
    "short digest": (f"quay.io/os@sha256:{HEX[1:]}", DIGEST_TEXT),
    "long digest": (f"quay.io/os@sha256:{HEX}0", DIGEST_TEXT),
    "upper case digest": (f"quay.io/os@sha256:{HEX.upper()}", DIGEST_TEXT),
    "other algorithm": (f"quay.io/os@sha512:{HEX}", DIGEST_TEXT),
    "two digests": (f"quay.io/os@sha256:{HEX}@sha256:{HEX}", DIGEST_TEXT),
    "host without a dot": (f"registry/os@sha256:{HEX}", NAME_TEXT),
    "scheme": (f"https://quay.io/os@sha256:{HEX}", NAME_TEXT),
    "two namespaces": (f"quay.io/a/b/os@sha256:{HEX}", NAME_TEXT),
    "long port": (f"quay.io:123456/os@sha256:{HEX}", NAME_TEXT),
    "long namespace": (f"quay.io/{'n' * 62}/os@sha256:{HEX}", NAME_TEXT),
    "too long": (f"quay.io/{'n' * 400}@sha256:{HEX}", "Too long: may not be more than 447 bytes"),
    "empty": ("", "should be at least 1 chars long"),
}
ON_A_MACHINE = f"localhost:22625/openshift/release@sha256:{HEX}"
TAGS = {
    "tag": ("quay.io/openshift/os:v1", ""),
    "port": ("registry.example.com:5000/team/os:4.20.0-rc_1", ""),
    "any depth": ("registry.example.com/a/b/c/os:latest", ""),
    "service of the cluster": ("image-registry.openshift-image-registry.svc:5000/mco/os-image:latest", ""),
    "no tag": ("quay.io/openshift/os", TAG_TEXT),
    "no host": ("openshift/os:latest", TAG_TEXT),
    "name only": ("os:latest", TAG_TEXT),
    "digest": (IMAGE, TAG_TEXT),
    "service without a port": ("image-registry.openshift.svc/mco/os-image", TAG_TEXT),
    "scheme": ("https://quay.io/openshift/os:latest", TAG_TEXT),
    "long": (f"quay.io/{'n' * 440}:v", "Too long: may not be more than 447 bytes"),
    "empty": ("", "should be at least 1 chars long"),
}
SUBDOMAINS = {
    "label": ("worker", ""),
    "dots and dashes": ("a-1.b-2.c", ""),
    "longest": (".".join(["x" * 63] * 3) + "." + "x" * 61, ""),
    "upper case": ("Worker", SUBDOMAIN_TEXT),
    "underscore": ("my_worker", SUBDOMAIN_TEXT),
    "dash at the end": ("worker-", SUBDOMAIN_TEXT),
    "dot at the beginning": (".worker", SUBDOMAIN_TEXT),
    "too long": ("x" * 254, "Too long: may not be more than 253 bytes"),
}
BUNDLES = {
    "release": ("ocp-release-bundle-4.20.0-x86_64", ""),
    "candidate": ("ocp-release-bundle-4.20.0-rc.1_s390x", ""),
    "other name": ("release-bundle-4.20.0-x86_64", "must be ocp-release-bundle-<version>-<arch|stream>"),
    "no architecture": ("ocp-release-bundle-4.20.0", "must be ocp-release-bundle-<version>-<arch|stream>"),
    "two numbers": ("ocp-release-bundle-4.20-x86_64", "must be ocp-release-bundle-<version>-<arch|stream>"),
    "too long": (f"ocp-release-bundle-4.20.0-{'x' * 40}", "Too long: may not be more than 64 bytes"),
    "empty": ("", "should be at least 1 chars long"),
}

Table = dict[str, tuple[str, str]]


def created(kind: Kind, what: str, table: Table, spec: Callable[[str], Body], field: str) -> Iterator[Case]:
    """One creation for each row of the table."""
    for name, (value, error) in table.items():
        yield kind.steps(f"{what}, {name}", Step("create", spec(value), error, field if error else ""))


def reported(
    kind: Kind, what: str, table: Table, spec: Body, status: Callable[[str], Body], field: str
) -> Iterator[Case]:
    """One status for each row of the table."""
    for name, (value, error) in table.items():
        yield kind.status(f"{what}, {name}", spec, status(value), error, field if error else "")


def condition(kind: str, status: str = "True") -> Body:
    """A metav1.Condition."""
    return {
        "type": kind,
        "status": status,
        "reason": "Because",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
