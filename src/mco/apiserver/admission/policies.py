"""All policies and bindings that stand in the store, asked before each write of a client."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import selector
from mco.apiserver import errors
from mco.apiserver.admission.matching import Review, matches
from mco.apiserver.admission.policy import Denial, Policy
from mco.apiserver.cel.authorization import Ask
from mco.apiserver.cel.values import Failure
from mco.apiserver.errors import StatusError
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Change, Key, Revision
from mco.apiserver.store.store import Store
from mco.apiserver.strategies.strategy import Writer
from mco.base.errors import MCOError
from mco.runtime.logging import Logger

Obj = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_UNCONFIGURED = "failed to configure policy"
_log = Logger("mco.apiserver")


class Policies:
    """Kept in step with the store by `observe`."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._policies: dict[str, Policy] = {}
        self._bindings: dict[str, Obj] = {}

    @property
    def in_force(self) -> bool:
        """Whether there is anything to ask."""
        return bool(self._bindings)

    def load(self) -> None:
        for resource in (POLICIES, BINDINGS):
            for revision in self._store.page(resource).revisions:
                self.observe(revision)

    def observe(self, revision: Revision) -> None:
        name = revision.key.name
        if revision.key.resource not in (POLICIES, BINDINGS):
            return
        known: dict[str, Any] = self._policies if revision.key.resource == POLICIES else self._bindings
        known.pop(name, None)
        if revision.change is Change.DELETED:
            return
        body = msgspec.json.decode(revision.data)
        try:
            known[name] = Policy(body) if revision.key.resource == POLICIES else body
        except MCOError as error:
            _log.error("a policy cannot be used", name=name, error=str(error))

    def check(self, review: Review, ask: Ask) -> list[str]:
        """Warnings. `ask` answers questions about rights. Raises StatusError for a denial."""
        if review.group == GROUP:
            return []
        warnings: list[str] = []
        for name, binding in sorted(self._bindings.items()):
            policy = self._policies.get(binding["spec"]["policyName"])
            if policy is None or not matches(policy.constraints, review):
                continue
            if not matches(binding["spec"].get("matchResources") or {}, review):
                continue
            actions = binding["spec"].get("validationActions") or ()
            for denial in self._denials(policy, binding, review, ask):
                if "Deny" in actions:
                    raise _refusal(policy.name, name, denial, review)
                if "Warn" in actions:
                    text = f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                    warnings.append(f"{text}'{name}': {denial.message}")
        return warnings

    def _denials(self, policy: Policy, binding: Obj, review: Review, ask: Ask) -> Iterator[Denial]:
        try:
            if not policy.is_concerned(review, None, ask):
                return
            found = list(self._params(policy, binding["spec"].get("paramRef"), review))
        except (Failure, LookupError) as error:
            if policy.fails_closed:
                yield Denial(str(error.args[0]))
            return
        for params in found:
            yield from policy.denials(review, params, ask)

    def _params(self, policy: Policy, ref: Mapping[str, Any] | None, review: Review) -> Iterator[Obj | None]:
        """Raises LookupError with the text of the refusal."""
        kind = policy.param_kind
        if kind is None or ref is None:
            yield None
            return
        group, _, version = kind["apiVersion"].rpartition("/")
        served = next(
            (s for s in self._catalog if (s.group, s.version, s.kind) == (group, version, kind["kind"])), None
        )
        if served is None:
            named = f"{kind['apiVersion']}, Kind={kind['kind']}"
            raise LookupError(f"{_UNCONFIGURED}: failed to find resource referenced by paramKind: '{named}'")
        found = list(self._selected(served, ref, review))
        if not found and ref.get("parameterNotFoundAction") == "Deny":
            text = "no params found for policy binding with `Deny` parameterNotFoundAction"
            raise LookupError(f"failed to configure binding: {text}")
        yield from found

    def _selected(self, served: Served, ref: Mapping[str, Any], review: Review) -> Iterator[Obj]:
        namespace = (ref.get("namespace") or review.namespace) if served.namespaced else ""
        if served.namespaced and not namespace:
            text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise LookupError(f"failed to configure binding: {text}")
        if name := ref.get("name"):
            revision = self._store.get(Key(served.resource, namespace, name))
            if revision is not None:
                yield {**msgspec.json.decode(revision.data), "apiVersion": served.api_version}
            return
        wanted = selector(msgspec.convert(ref.get("selector") or {}, LabelSelector))
        for revision in self._store.page(served.resource).revisions:
            body = msgspec.json.decode(revision.data)
            if revision.key.namespace == namespace and wanted.matches(body["metadata"].get("labels") or {}):
                yield {**body, "apiVersion": served.api_version}


def _refusal(policy: str, binding: str, denial: Denial, review: Review) -> StatusError:
    by = "" if denial.message.startswith(_UNCONFIGURED) else f" with binding '{binding}'"
    message = f"ValidatingAdmissionPolicy '{policy}'{by} denied request: {denial.message}"
    refusal = errors.forbidden(review.resource, review.group, review.name, message)
    reason = denial.reason or "Invalid"
    details = {**refusal.details, "causes": [{"message": message}]}
    return StatusError(_CODES.get(reason, 422), reason, refusal.message, details)


def review_of(
    store: Store, served: Served, new: Obj | None, old: Obj | None, *, subresource: str, writer: Writer
) -> Review:
    """A write as policies see it."""
    obj = new if new is not None else old
    metadata = (obj or {}).get("metadata") or {}
    namespace = metadata.get("namespace", "")
    around = store.get(Key("namespaces", "", namespace)) if namespace else None
    return Review(
        operation="DELETE" if new is None else "CREATE" if old is None else "UPDATE",
        group=served.group,
        version=served.version,
        resource=served.plural,
        kind=served.kind,
        subresource=subresource,
        namespace=namespace,
        name=metadata.get("name", ""),
        new=new,
        old=old,
        namespace_object=msgspec.json.decode(around.data) if around is not None else None,
        user=writer.user,
        groups=writer.groups,
        uid=str(uuid.uuid4()),
    )
