"""Value formats that several kinds share, with the texts that refuse a wrong value (spec/node.md 1.1)."""

from __future__ import annotations

from typing import Any

from mco.api.schema import Rule, Schema, rule, string, struct

_SUBDOMAIN_TEXT = (
    "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character."
)
_LABEL_TEXT = "the value must consist of only lowercase alphanumeric characters and hyphens"
_SERVICE_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
_NAME_TEXT = (
    "the OCI Image name should follow the host[:port][/namespace]/name format, resembling a valid URL "
    "without the scheme"
)
_DIGEST_TEXT = (
    "the OCI Image reference must end with a valid '@sha256:<digest>' suffix, where '<digest>' is 64 "
    "characters long"
)
_TAG_TEXT = f"{_NAME_TEXT}. Or it must be a valid .svc followed by a port, repository, image name, and tag."

_HOST = "([a-zA-Z0-9-]+\\\\.)+[a-zA-Z0-9-]+"
_PORT = "(:[0-9]{2,5})?"
_NAMESPACE_AND_NAME = "/([a-zA-Z0-9-_]{0,61}/)?[a-zA-Z0-9-_.]*?"
_IN_CLUSTER = "[^.]+\\\\.[^.]+\\\\.svc:\\\\d+\\\\/[^\\\\/]+\\\\/[^\\\\/]+:[^\\\\/]+"
_LABEL = "([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])"


def is_subdomain(article: str = "a lowercase") -> Rule:
    """Kinds differ in how their text begins."""
    return rule("!format.dns1123Subdomain().validate(self).hasValue()", f"{article} {_SUBDOMAIN_TEXT}")


def subdomain(article: str = "a lowercase", **more: Any) -> Schema:
    """A DNS1123 subdomain of at most 253 characters."""
    return string(maxLength=253, rules=[is_subdomain(article)], **more)


def stream_name() -> Schema:
    """The name of an OSImageStream's stream."""
    return subdomain("a", minLength=1)


def named(name: Schema | None = None) -> Schema:
    """A reference that is a name and nothing else."""
    return struct({"name": name or subdomain()}, required=("name",))


def label(**more: Any) -> Schema:
    """A DNS1123 label."""
    is_label = rule("!format.dns1123Label().validate(self).hasValue()", _LABEL_TEXT)
    return string(minLength=1, maxLength=63, rules=[is_label], **more)


def service_label() -> Schema:
    """A DNS1035 label: it begins with a letter."""
    is_label = rule("!format.dns1035Label().validate(self).hasValue()", _SERVICE_LABEL_TEXT)
    return string(minLength=1, maxLength=63, rules=[is_label])


def dotted_labels() -> Schema:
    """Labels of at most 63 characters each, in either case."""
    return string(minLength=1, maxLength=253, pattern=f"^{_LABEL}(\\.{_LABEL})*$")


def digest(host: str = _HOST) -> Schema:
    """ImageDigestFormat: at most one namespace, and a host with a dot in it."""
    return string(
        minLength=1,
        maxLength=447,
        rules=[
            rule(
                "(self.split('@').size() == 2 && self.split('@')[1].matches('^sha256:[a-f0-9]{64}$'))",
                _DIGEST_TEXT,
            ),
            rule(f"(self.split('@')[0].matches('^{host}{_PORT}{_NAMESPACE_AND_NAME}$'))", _NAME_TEXT),
        ],
    )


def release_digest() -> Schema:
    """The image of a release that a node stores: the registry on the machine itself is a host too."""
    return digest(f"(localhost|{_HOST})")


def tag() -> Schema:
    """ImageTagFormat: any depth of namespaces, or a service of the cluster; the tag is mandatory."""
    outside = f"{_HOST}{_PORT}(/[a-zA-Z0-9-_]{{1,61}})*/[a-zA-Z0-9-_.]+:[a-zA-Z0-9._-]+"
    either = f"self.matches('^{outside}$') || self.matches('^{_IN_CLUSTER}$')"
    return string(minLength=1, maxLength=447, rules=[rule(either, _TAG_TEXT)])


def store_path() -> Schema:
    """An absolute folder of an additional store."""
    return string(
        minLength=1,
        maxLength=256,
        rules=[
            rule(
                "self.matches('^/[a-zA-Z0-9/._-]+$')",
                "path must be absolute and contain only alphanumeric characters, '/', '.', '_', and '-'",
            ),
            rule("!self.contains('//')", "path must not contain consecutive forward slashes"),
        ],
    )


def release_bundle() -> Schema:
    """ReleaseBundleName."""
    pattern = "^ocp-release-bundle-[0-9]+\\\\.[0-9]+\\\\.[0-9]+-[A-Za-z0-9._-]+$"
    text = "must be ocp-release-bundle-<version>-<arch|stream> and <= 64 chars"
    return string(minLength=1, maxLength=64, rules=[rule(f"self.matches('{pattern}')", text)])


def never_decreases(field: str, verb: str = "must not decrease") -> Rule:
    return rule("self >= oldSelf", f"{field} {verb}")


def only_with(field: str, discriminator: str, value: str, text: str = "") -> Rule:
    """A member of a union: required with one value of the discriminator, forbidden with every other."""
    wanted = f"has(self.{discriminator}) && self.{discriminator} == '{value}'"
    text = text or f"{field} is required when {discriminator} is {value}, and forbidden otherwise"
    return rule(f"{wanted} ? has(self.{field}) : !has(self.{field})", text)
