"""Rules for what is fetched: sources, compression, hashes, headers, the proxy."""

from __future__ import annotations

import re

from mco.ignition import dataurl
from mco.ignition import types as t
from mco.ignition.report import Findings
from mco.ignition.rules import urls

NO_URL = "unable to parse url"
_BAD_SCHEME = "invalid url scheme"
_AUTHORITIES = "$.ignition.security.tls.certificateAuthorities."
_BAD_ARN = "invalid S3 ARN format"

# Schemes besides data URLs, and the 3.x minor version that introduced each.
_SCHEMES = {"http": 0, "https": 0, "tftp": 0, "s3": 0, "gs": 2, "arn": 4}

# Length in hexadecimal digits of each hash function, and the minor version that introduced it.
_HASHES = {"sha512": (128, 0), "sha256": (64, 1)}


def check_resource(resource: t.Resource, path: str, out: Findings) -> None:
    if resource.compression not in (None, "", "gzip"):
        out.error(f"{path}.compression", "invalid compression method")
    if (
        resource.verification.hash is not None
        and resource.source is None
        and not _is_reference(path, out.minor)
    ):
        out.error(f"{path}.verification.hash", "source must be specified if verification is specified")
    message = url_error(resource.source, out.minor)
    if not resource.source and out.minor == 0 and path.startswith(_AUTHORITIES):
        message = _BAD_SCHEME  # the source of an authority was no optional value then
    if message:
        out.error(f"{path}.source", message)
    if resource.http_headers:
        url = urls.parse(resource.source) if resource.source else None
        if url is None:
            out.error(f"{path}.httpHeaders", NO_URL)
        elif url.scheme not in ("http", "https"):
            out.error(f"{path}.httpHeaders", "cannot use HTTP headers with this source scheme")


def check_header(header: t.HTTPHeader, path: str, out: Findings) -> None:
    if not header.name:
        out.error(f"{path}.name", "HTTP header name can't be empty")
    if header.value == "":
        out.error(f"{path}.value", "unable to parse HTTP header")


def check_verification(verification: t.Verification, path: str, out: Findings) -> None:
    message = hash_error(verification.hash, out.minor)
    if message:
        out.error(f"{path}.hash", message)


def check_references(config: t.IgnitionConfig, path: str, out: Findings) -> None:
    if out.minor == 0:
        return
    for index, resource in enumerate(config.merge):
        _check_required(resource, f"{path}.merge.{index}", out)


def check_authorities(tls: t.TLS, path: str, out: Findings) -> None:
    if out.minor == 0:
        return
    for index, resource in enumerate(tls.certificate_authorities):
        _check_required(resource, f"{path}.certificateAuthorities.{index}", out)


def check_proxy(proxy: t.Proxy, path: str, out: Findings) -> None:
    for key, value in (("httpProxy", proxy.http_proxy), ("httpsProxy", proxy.https_proxy)):
        if value is None:
            continue
        url = urls.parse(value)
        if url is None:
            out.error(f"{path}.{key}", NO_URL)
        elif url.scheme not in ("http", "https"):
            out.error(f"{path}.{key}", "proxies must be http(s)")
        elif key == "httpsProxy" and url.scheme == "http":
            out.warn(f"{path}.{key}", "insecure plaintext HTTP proxy specified for HTTPS resources")


def _is_reference(path: str, minor: int) -> bool:
    """In spec 3.0 the rule about hashes without a source holds for contents only."""
    return minor == 0 and path.startswith("$.ignition.")


def _check_required(resource: t.Resource, path: str, out: Findings) -> None:
    message = url_error(resource.source, out.minor) if resource.source else "source is required"
    if message:
        out.error(path, message)


def url_error(source: str | None, minor: int) -> str:
    """What is wrong with a source; nothing is, when it is absent or empty."""
    if not source:
        return ""
    if source.startswith(dataurl.PREFIX):
        return _data_error(source)
    url = urls.parse(source)
    if url is None:
        return NO_URL
    if url.scheme == "data":
        return _data_error(source)
    if _SCHEMES.get(url.scheme, 99) > minor:
        return _BAD_SCHEME
    if url.scheme == "arn" and not _is_s3_arn(url):
        return _BAD_ARN
    if url.scheme in ("s3", "arn"):
        return _object_version_error(url)
    return ""


def hash_error(value: str | None, minor: int) -> str:
    """What is wrong with `<function>-<digits>`; the digits themselves are not looked at."""
    if value is None:
        return ""
    function, dash, digits = value.partition("-")
    if not dash:
        return "malformed hash specifier"
    length, since = _HASHES.get(function, (0, 99))
    if since > minor:
        return "unrecognized hash function"
    return "" if len(digits) == length else "incorrect size for hash sum"


_PLAIN_DATA = re.compile(r"[^\x00-\x1f\x7f#]*")


def _data_error(source: str) -> str:
    if dataurl.is_plain_base64(source):
        return ""
    if not _PLAIN_DATA.fullmatch(source) and urls.parse(source) is None:
        return NO_URL
    try:
        dataurl.check(source)
    except dataurl.DataURLError as error:
        return error.message
    return ""


def _is_s3_arn(url: urls.URL) -> bool:
    arn = f"arn:{url.opaque}"
    sections = arn.split(":", 5)
    if len(sections) < 6 or sections[2] != "s3":
        return False
    parts = arn.count("/") + 1
    return parts >= (3 if sections[5].startswith("accesspoint/") else 2)


def _object_version_error(url: urls.URL) -> str:
    versions = urls.query_values(url.query, "versionId")
    return "invalid S3 object VersionId" if versions and not versions[0] else ""
