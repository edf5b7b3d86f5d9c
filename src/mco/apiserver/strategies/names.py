"""How names, label keys and label values are written, with the texts of the field for those that are not."""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
_DNS_LABEL = re.compile(rf"{_LABEL}\Z")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_DNS1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
DNS1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def subdomain_errors(name: str) -> list[str]:
    problems = [] if _SUBDOMAIN.match(name) else [SUBDOMAIN_RULE]
    if len(name) > 253:
        problems.append("must be no more than 253 characters")
    return problems


def label_errors(name: str) -> list[str]:
    problems = [] if _DNS_LABEL.match(name) else [LABEL_RULE]
    if len(name) > 63:
        problems.append("must be no more than 63 characters")
    return problems


def dns1035_errors(name: str) -> list[str]:
    problems = [] if _DNS1035.match(name) else [DNS1035_RULE]
    if len(name) > 63:
        problems.append("must be no more than 63 characters")
    return problems


def path_segment_errors(name: str) -> list[str]:
    """The looser rule of kinds whose names may be anything that a URL path can carry."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def qualified_name_errors(key: str) -> list[str]:
    prefix, slash, name = key.rpartition("/")
    problems = []
    if slash and (not prefix or subdomain_errors(prefix)):
        problems.append(f"prefix part {SUBDOMAIN_RULE}")
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 characters")
    if not _QUALIFIED.match(name):
        problems.append(QUALIFIED_RULE)
    return problems


def label_value_errors(value: str) -> list[str]:
    if len(value) > 63:
        return ["must be no more than 63 characters"]
    return [] if not value or _QUALIFIED.match(value) else [VALUE_RULE]
