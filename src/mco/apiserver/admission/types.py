"""What is known of the variables of policies: the request and the namespace; an object may be of any kind."""

from __future__ import annotations

from mco.apiserver.cel.declared import Declared

_TEXT, _TRUTH, _ANY = Declared("string"), Declared("bool"), Declared("dyn")
_TEXTS = Declared("list", element=_TEXT)
_MAP = Declared("map", element=_TEXT)


def _object(**fields: Declared) -> Declared:
    return Declared("object", fields)


_KIND = _object(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE = _object(group=_TEXT, version=_TEXT, resource=_TEXT)
REQUEST = _object(
    uid=_TEXT,
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_TEXT,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_object(username=_TEXT, uid=_TEXT, groups=_TEXTS, extra=Declared("map", element=_TEXTS)),
    dryRun=_TRUTH,
    options=_ANY,
)
NAMESPACE = _object(
    metadata=_object(
        name=_TEXT,
        generateName=_TEXT,
        namespace=_TEXT,
        labels=_MAP,
        annotations=_MAP,
        UID=_TEXT,
        creationTimestamp=Declared("timestamp"),
        deletionGracePeriodSeconds=Declared("int"),
        deletionTimestamp=Declared("timestamp"),
        generation=Declared("int"),
        resourceVersion=_TEXT,
        finalizers=_TEXTS,
    ),
    spec=_object(finalizers=_TEXTS),
    status=_object(phase=_TEXT),
)
