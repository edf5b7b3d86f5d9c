"""Everything that is wrong with a set of manifests, not only the first thing.

An error is what rendering refuses, what the result's size forbids, or what the node daemon will refuse; a
warning is what works and is probably not meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from mco.api import names
from mco.api.findings import Finding, of_error
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.manifests import Manifests
from mco.base.errors import InvalidInput, MCOError
from mco.ignition.report import Entry, IgnitionError
from mco.ignition.schema import key_of
from mco.ignition.types import Config
from mco.ignition.validate import validate
from mco.render import builtin
from mco.render.checks import check_config, check_extensions, check_kernel_type, check_modes, in_spec
from mco.render.hints import hint
from mco.render.lint import lint, lint_arguments
from mco.render.pool import render
from mco.render.rendered import Rendered
from mco.render.selection import SelectingAll, select
from mco.render.sources import Sources, raw_config

_SUPPORTED = "Supported spec versions"
_SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def audit(manifests: Manifests) -> tuple[Finding, ...]:
    """All findings about the objects, in the order of the documents, then those about pools."""
    sources = Sources()
    configs = manifests.machine_configs
    found = [finding for config in configs for finding in _of_config(config, sources)]
    unusable = {config.name for config in configs if not _can_be_merged(config, sources)}
    pools = _Pools(manifests, sources, unusable)
    placed = [_placed(finding, manifests) for finding in (*found, *pools.findings())]
    return (*manifests.findings, *placed)


def _can_be_merged(config: MachineConfig, sources: Sources) -> bool:
    try:
        check_config(config, sources)
        if (raw := raw_config(config.spec)) is not None:
            sources.parse(raw)
    except MCOError:
        return False
    return True


def _placed(finding: Finding, manifests: Manifests) -> Finding:
    return msgspec.structs.replace(finding, place=finding.place or manifests.place(finding.subject))


def _of_config(config: MachineConfig, sources: Sources) -> Iterator[Finding]:
    """What is wrong with one MachineConfig by itself."""
    subject = f"MachineConfig/{config.name}"
    if not _SUBDOMAIN.fullmatch(config.name):
        yield Finding(
            level="warning",
            subject=subject,
            path="$.metadata.name",
            message="no API server takes this name",
            hint="use lower case letters, digits, - and ., and begin and end with a letter or digit",
        )
    if not config.metadata.label(names.ROLE_LABEL):
        yield Finding(
            level="warning",
            subject=subject,
            path="$.metadata.labels",
            message=f"no label {names.ROLE_LABEL}: no pool selects it",
            hint=f"label it with the pool's role, as {names.ROLE_LABEL}: {names.WORKER}",
        )
    for check in (check_kernel_type, check_extensions):
        try:
            check(config.spec)
        except MCOError as error:
            yield of_error(error, subject=subject)
    entries = lint_arguments(config.spec.kernel_arguments or (), "$.spec.kernelArguments")
    yield from (_of_entry(subject, entry) for entry in entries)
    raw = raw_config(config.spec)
    if raw is None:
        return
    try:
        parsed = sources.parse(raw)
    except IgnitionError as error:
        yield from _of_ignition_error(subject, error)
        said, ignition = {entry.path for entry in error.report.entries}, _decoded(raw)
    else:
        yield from (_of_entry(subject, entry, in_spec(entry.path)) for entry in parsed.report.entries)
        said, ignition = set(), parsed.config
    if ignition is None:
        return
    for entry in lint(ignition).entries:
        if entry.path not in said:
            yield _of_entry(subject, entry, in_spec(entry.path))
    try:
        check_modes(ignition)
    except MCOError as error:
        yield of_error(error, subject=subject)


def _decoded(raw: msgspec.Raw) -> Config | None:
    """A config that breaks rules but has the right shape: the other rules can still be held against it."""
    try:
        return msgspec.json.decode(raw, type=Config)
    except msgspec.DecodeError:
        return None


def _of_ignition_error(subject: str, error: IgnitionError) -> Iterator[Finding]:
    """One finding for each entry of the report, or the sentence itself where that says more."""
    if error.report.fatal and _SUPPORTED not in error.message:
        for entry in error.report.entries:
            yield _of_entry(subject, entry, in_spec(entry.path))
    else:
        yield Finding(
            level="error",
            subject=subject,
            path=in_spec(error.path) or "$.spec.config",
            message=error.message.partition("\n")[0],
            hint=error.hint or hint(error.message),
        )


def _of_entry(subject: str, entry: Entry, path: str = "") -> Finding:
    return Finding(
        level="error" if entry.kind == "error" else "warning",
        subject=subject,
        path=path or entry.path,
        message=entry.message,
        hint=hint(entry.message),
    )


class _Pools:
    """The pools of the manifests, and the built-in ones of the roles that no pool of the manifests serves."""

    def __init__(self, manifests: Manifests, sources: Sources, unusable: set[str]) -> None:
        self._manifests = manifests
        self._sources = sources
        self._unusable = unusable

    def findings(self) -> Iterator[Finding]:
        for pool in self._pools():
            yield from self._of_pool(pool)
        yield from self._unselected()

    def _pools(self) -> list[MachineConfigPool]:
        written = list(self._manifests.pools)
        known = {pool.name for pool in written}
        roles = {
            role
            for config in self._manifests.machine_configs
            if (role := config.metadata.label(names.ROLE_LABEL)) and role not in known
        }
        return [*written, *(builtin.pool(role) for role in sorted(roles))]

    def _of_pool(self, pool: MachineConfigPool) -> Iterator[Finding]:
        subject = f"MachineConfigPool/{pool.name}"
        try:
            selected = select(pool, self._manifests.machine_configs)
        except SelectingAll as error:
            yield Finding(
                level="warning", subject=subject, path=error.path, message=error.message, hint=error.hint
            )
            return
        except InvalidInput as error:
            yield of_error(error, subject=subject)
            return
        if any(config.name in self._unusable for config in selected):
            return  # whatever the pool suffers from has been said of its configs
        try:
            rendered = render(pool, selected, self._manifests.controller_config, sources=self._sources)
        except MCOError as error:
            yield of_error(error, subject=subject)
            return
        if (too_large := rendered.too_large) is not None:
            yield of_error(too_large)
        yield from self._of_result(rendered)

    def _of_result(self, rendered: Rendered) -> Iterator[Finding]:
        """What is wrong only with all configs together: the daemon reads the result as one config."""
        said = set()
        for item in rendered.inputs:
            raw = raw_config(item.spec)
            if raw is not None:
                parsed = self._sources.parse(raw)
                said |= {_unplaced(e) for e in (*parsed.report.entries, *lint(parsed.config).entries)}
        for entry in (*validate(rendered.config).entries, *lint(rendered.config).entries):
            if _unplaced(entry) not in said:
                finding = _of_entry(f"MachineConfig/{rendered.name}", entry, in_spec(entry.path))
                advice = "; ".join(filter(None, (finding.hint, _blame(entry.path, rendered))))
                yield msgspec.structs.replace(finding, hint=advice)

    def _unselected(self) -> Iterator[Finding]:
        """Labelled configs that no pool takes, once pools are written down at all."""
        taken: set[str] = set()
        for pool in self._pools():
            try:
                taken |= {config.name for config in select(pool, self._manifests.machine_configs)}
            except SelectingAll:
                return
            except InvalidInput:
                continue  # said of the pool
        for config in self._manifests.machine_configs:
            if config.name not in taken and config.metadata.label(names.ROLE_LABEL):
                yield Finding(
                    level="warning",
                    subject=f"MachineConfig/{config.name}",
                    path="$.metadata.labels",
                    message="no pool selects it",
                    hint="check the role label against the pools' machineConfigSelector",
                )


def _unplaced(entry: Entry) -> tuple[str, str]:
    """What an entry says without where: indexes differ between a config and the result it went into."""
    return entry.kind, entry.message


_ELEMENT = re.compile(r"\$\.(storage|systemd|passwd)\.([a-z]+)\.([0-9]+)")
_KINDS = {"directories": "directory", "files": "file", "links": "link", "units": "unit", "users": "user"}


def _blame(path: str, rendered: Rendered) -> str:
    """Which MachineConfigs set the element of the result that a path leads to."""
    match = _ELEMENT.match(path)
    if not match or match[2] not in _KINDS:
        return ""
    element = getattr(getattr(rendered.config, match[1]), match[2])[int(match[3])]
    fact = rendered.provenance.of(_KINDS[match[2]], key_of(element))
    return f"{fact.label} is set by {', '.join(fact.set_by)}" if fact else ""
