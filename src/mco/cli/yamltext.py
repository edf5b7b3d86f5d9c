"""Objects as YAML that the original's parser reads as it was meant: it takes more words for numbers and
booleans than the library that writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from mco.api.scalars import must_be_quoted


def text(body: Mapping[str, Any]) -> bytes:
    dumped: str = yaml.dump(dict(body), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return dumped.encode()


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, _: object) -> bool:
        return True


def _string(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if must_be_quoted(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _string)
