"""What a structural schema says of the type of a value in rules: fields, sizes, conversions."""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mco.apiserver.cel import times

Schema = Mapping[str, Any]
Convert = Callable[[Any], Any]

REQUEST_BYTES = 3 * 1024 * 1024
"""No request is longer, so that no list or text in an object is either."""

_RESERVED_WORDS = (
    "true false null in as break const continue else for function if import let loop package namespace "
    "return var void while"
)
_RESERVED = frozenset(_RESERVED_WORDS.split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_ESCAPABLE = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*\Z", re.ASCII)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TEXT_BYTES = {"duration": 32, "date": 12, "date-time": 32}
_TEXT_LEAST = {"duration": 3, "date": 12, "date-time": 21}
_FORMS = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}


class Declared(msgspec.Struct, frozen=True, eq=False, dict=True):
    """`kind` is `object`, `map`, `list`, `dyn` or a scalar's name in CEL. `fields` are of an object, by their
    names in rules; `element` of a map or list. `most` bounds the elements, or the bytes of a text; `least`
    the bytes of the value in JSON. `convert` makes the value of rules from the value of JSON, None: the same.
    `keys` of a list whose order means nothing; none of them: a set.

    Two are equal when no expression can tell them apart; how values become those of rules does not count."""

    kind: str
    fields: Mapping[str, Declared] = msgspec.field(default_factory=dict)
    element: Declared | None = None
    most: int = 1
    least: int = 1
    convert: Convert | None = None
    keys: tuple[str, ...] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Declared) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    @functools.cached_property
    def _digest(self) -> bytes:
        """Of the whole tree; each node's once, since what is compiled is looked up by it."""
        fields = [(name, field._digest) for name, field in self.fields.items()]
        element = self.element._digest if self.element else None
        known = (self.kind, fields, element, self.most, self.least, self.keys)
        return hashlib.blake2b(repr(known).encode(), digest_size=16).digest()

    @property
    def text(self) -> str:
        """The type in the words of `environment`."""
        if self.kind == "list":
            return f"list<{self.element.text if self.element else 'dyn'}>"
        if self.kind == "map":
            return f"map<string,{self.element.text if self.element else 'dyn'}>"
        return self.kind


def is_identifier(name: str) -> bool:
    """Whether an expression can have a variable of that name."""
    return bool(_NAME.match(name)) and name not in _RESERVED


def escaped(name: str) -> str:
    """A field's name in rules, or the empty text for one that cannot be written in them."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.match(name):
        return ""
    return re.sub(r"__|[.\-/]", lambda match: _ESCAPES[match[0]], name)


def declare(schema: Schema, *, whole: bool = False) -> Declared | None:
    """None for values that rules cannot see. `whole`: an object with apiVersion, kind, metadata."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declared("dyn", most=schema["maxLength"] * 4 if "maxLength" in schema else REQUEST_BYTES - 2)
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "object":
            return _object(schema, whole=whole)
        case "string":
            return _text(schema)
        case "boolean":
            return Declared("bool", least=4)
        case "number":
            return Declared("double", convert=_double)
        case "integer":
            return Declared("int", convert=None)
    return None


def _embedded(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _list(schema: Schema) -> Declared | None:
    items = schema.get("items")
    element = declare(items, whole=_embedded(items)) if isinstance(items, Mapping) else None
    if element is None:
        return None
    most = schema.get("maxItems", (REQUEST_BYTES - 2) // (element.least + 1))
    keys = None
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        keys = tuple(map(escaped, schema.get("x-kubernetes-list-map-keys") or ()))
    convert = _each(element.convert)
    return Declared("list", element=element, most=max(most, 0), least=2, convert=convert, keys=keys)


def _object(schema: Schema, *, whole: bool) -> Declared | None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping):
        element = declare(extra, whole=_embedded(extra))
        if element is None:
            return None
        most = schema.get("maxProperties", (REQUEST_BYTES - 2) // (element.least + 6))
        return Declared("map", element=element, most=max(most, 0), least=2, convert=_values(element.convert))
    properties = dict(schema.get("properties") or {})
    if whole:
        text = {"type": "string"}
        properties |= {"apiVersion": text, "kind": text}
        properties["metadata"] = {"type": "object", "properties": {"name": text, "generateName": text}}
    fields: dict[str, Declared] = {}
    converted: dict[str, tuple[str, Convert | None]] = {}
    least, hidden = 2, False
    nullable = frozenset(name for name, sub in properties.items() if sub.get("nullable"))
    for name, sub in properties.items():
        field = declare(sub, whole=_embedded(sub))
        word = escaped(name)
        if field is None:
            hidden = True
            continue
        if word:
            fields[word] = field
        if word != name or field.convert is not None:
            converted[name] = (word, field.convert)
        if name in (schema.get("required") or ()) and "default" not in sub:
            least += len(name) + field.least + 4
    keep = frozenset(properties) if hidden or schema.get("x-kubernetes-preserve-unknown-fields") else None
    return Declared("object", fields, least=least, convert=_fields(converted, keep, nullable))


def _text(schema: Schema) -> Declared:
    form = schema.get("format", "")
    kind = _FORMS.get(form, "string")
    convert = _CONVERSIONS.get(form)
    if form in _TEXT_BYTES:
        return Declared(kind, most=_TEXT_BYTES[form], least=_TEXT_LEAST[form], convert=convert)
    longest = schema.get("maxLength")
    if longest is not None:
        most = longest if kind == "bytes" else longest * 4
    elif schema.get("enum") and kind == "string":
        most = max(len(str(value).encode()) for value in schema["enum"])
    else:
        most = REQUEST_BYTES - 2
    return Declared(kind, most=most, least=2, convert=convert)


def _double(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        return value


def _parsed(parse: Callable[[str], Any]) -> Convert:
    """Of a text; what is none, or has another form, stays as it is."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except (ValueError, binascii.Error):
            return value

    return convert


_CONVERSIONS: dict[str, Convert] = {
    "byte": _parsed(functools.partial(base64.b64decode, validate=True)),
    "duration": _parsed(times.duration),
    "date": _parsed(lambda text: times.timestamp(f"{text}T00:00:00Z")),
    "date-time": _parsed(times.timestamp),
}


def _each(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: [convert(entry) for entry in value] if isinstance(value, list) else value


def _values(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: (
        {key: convert(entry) for key, entry in value.items()} if isinstance(value, dict) else value
    )


def _fields(
    converted: dict[str, tuple[str, Convert | None]], keep: frozenset[str] | None, nullable: frozenset[str]
) -> Convert | None:
    """Renames and converts some fields; with `keep`, other ones than these are not seen, and neither is null
    in those that may be null."""
    if not converted and keep is None and not nullable:
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        result = {}
        for name, entry in value.items():
            if (keep is not None and name not in keep) or (entry is None and name in nullable):
                continue
            word, below = converted.get(name, (name, None))
            result[word or name] = entry if below is None else below(entry)
        return result

    return convert


def in_order_of(declared: Declared, value: Any, old: Any) -> Any:
    """`old` with its sets and keyed lists in the order of `value`, so that order makes no difference."""
    if not _has_sets(declared):
        return old
    if isinstance(old, dict) and isinstance(value, dict):
        return {
            name: in_order_of(below, value.get(name), entry)
            if (below := declared.fields.get(name) or declared.element)
            else entry
            for name, entry in old.items()
        }
    element = declared.element
    if not isinstance(old, list) or not isinstance(value, list) or declared.keys is None or element is None:
        return old
    places = {_identity(declared.keys, entry): (at, entry) for at, entry in enumerate(value)}
    nowhere = (len(value), None)
    ordered = sorted(old, key=lambda entry: places.get(_identity(declared.keys, entry), nowhere)[0])
    return [
        in_order_of(element, places.get(_identity(declared.keys, entry), nowhere)[1], entry)
        for entry in ordered
    ]


def _has_sets(declared: Declared) -> bool:
    below = [*declared.fields.values(), *([declared.element] if declared.element else [])]
    return declared.keys is not None or any(map(_has_sets, below))


def _identity(keys: tuple[str, ...] | None, entry: Any) -> str:
    if keys and isinstance(entry, dict):
        return repr([entry.get(key) for key in keys])
    return repr(entry)
