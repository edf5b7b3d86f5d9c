"""`systemctl --root`: which units are enabled, as links in the root, where there is no systemctl to do it.

Same links, words and exit statuses as systemd 252; a contract test holds the two side by side.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator, Sequence
from contextlib import suppress

from mco.base.errors import HostError
from mco.host.commands import Output
from mco.host.fake import unitfiles
from mco.host.fake.unitfiles import UnitFile
from mco.host.root import Root

CONFIG = "/etc/systemd/system"
PRESET_FOLDERS = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
_DEPENDENCIES = (("WantedBy", "wants"), ("RequiredBy", "requires"), ("UpheldBy", "upholds"))


class _Refused(HostError):
    pass


def systemctl(root: Root, verb: str, names: Sequence[str]) -> Output:
    """`verb` is enable, disable, preset, mask, unmask, is-enabled or list-unit-files."""
    try:
        if verb == "is-enabled":
            return _is_enabled(root, names)
        if verb == "list-unit-files":
            lines = (f"{name} {_word(root, name)} -" for name in sorted(unitfiles.all_names(root)))
            return Output(status=0, stdout="".join(f"{line}\n" for line in lines))
        {"enable": _enable, "disable": _disable, "preset": _preset, "mask": _mask, "unmask": _unmask}[verb](
            root, names
        )
    except _Refused as refused:
        return Output(status=1, stderr=f"{refused}\n")
    return Output(status=0)


def state(root: Root, name: str) -> str | None:
    """None when there is no such unit."""
    unit = unitfiles.find(root, name)
    if unit is None:
        return None
    if unit.masked:
        return "masked"
    if unit.name != name and unitfiles.template_of(name) != unit.name:
        return "alias"
    if any(True for _ in _links(root, name)):
        return "enabled"
    if not unit.installable:
        return "static"
    needed = ("WantedBy", "RequiredBy", "UpheldBy", "Alias")
    return "disabled" if any(unit.words("Install", key) for key in needed) else "indirect"


def _word(root: Root, name: str) -> str:
    return state(root, name) or "bad"


def _is_enabled(root: Root, names: Sequence[str]) -> Output:
    words: list[str] = []
    for name in names:
        word = state(root, name)
        if word is None:
            text = f"Failed to get unit file state for {name}: No such file or directory\n"
            return Output(status=1, stdout="".join(words), stderr=text)
        words.append(f"{word}\n")
    good = {"enabled\n", "static\n", "alias\n", "indirect\n"}
    return Output(status=0 if good & set(words) else 1, stdout="".join(words))


def _enable(root: Root, names: Sequence[str]) -> None:
    """Every unit is looked at before the first link is made; a template that names no instance only fails
    when it is its turn, and does not keep the others."""
    refused: list[_Refused] = []
    for unit in list(_with_also(root, names, "enable")):
        try:
            for path, target in list(_wanted_links(unit)):
                root.symlink(path, target)
        except _Refused as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _disable(root: Root, names: Sequence[str]) -> None:
    for name in names:
        unit = unitfiles.find(root, name)
        if unit is None or unit.masked:
            continue
        for also in (unit.name, *unit.words("Install", "Also")):
            for path in list(_links(root, also)):
                root.remove(path)
                folder = posixpath.dirname(path)
                if folder != CONFIG and not root.list(folder):
                    root.remove(folder)


def _preset(root: Root, names: Sequence[str]) -> None:
    units = [_found(root, name, "preset") for name in names]
    wanted = [unit.name for unit in units if _preset_enables(root, unit.name)]
    _disable(root, [unit.name for unit in units if unit.name not in wanted])
    with suppress(_Refused):
        _enable(root, wanted)


def _mask(root: Root, names: Sequence[str]) -> None:
    for name in names:
        path = f"{CONFIG}/{name}"
        status = root.stat(path)
        if status is not None and not status.is_symlink:
            raise _Refused(f'Failed to mask unit, file "{path}" already exists.')
        root.symlink(path, "/dev/null")


def _unmask(root: Root, names: Sequence[str]) -> None:
    for name in names:
        unit = unitfiles.find(root, name)
        if unit is not None and unit.masked and unit.path == f"{CONFIG}/{name}":
            root.remove(unit.path)


def _with_also(root: Root, names: Sequence[str], verb: str) -> Iterator[UnitFile]:
    todo, seen = list(names), set[str]()
    while todo:
        name = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        unit = _found(root, name, verb)
        yield unit
        todo += unit.words("Install", "Also")


def _found(root: Root, name: str, verb: str) -> UnitFile:
    unit = unitfiles.find(root, name)
    if unit is None:
        raise _Refused(f"Failed to {verb} unit, unit {name} does not exist.")
    if unit.masked:
        raise _Refused(f"Failed to {verb} unit, unit {unit.path} is masked.")
    return unit


def _wanted_links(unit: UnitFile) -> Iterator[tuple[str, str]]:
    name = unit.name
    instance = unitfiles.instance_of(name)
    if unitfiles.template_of(name) == name:
        default = unit.words("Install", "DefaultInstance")
        if not default:
            targets = unit.words("Install", "WantedBy")
            if targets:
                raise _Refused(
                    f"Failed to enable {name}, destination unit {targets[0]} is a non-template unit."
                )
            return
        instance = default[-1]
        name = name.replace("@.", f"@{instance}.")
    for alias in unit.words("Install", "Alias"):
        yield f"{CONFIG}/{_expand(alias, name, instance)}", unit.path
    for key, folder in _DEPENDENCIES:
        for target in unit.words("Install", key):
            yield f"{CONFIG}/{_expand(target, name, instance)}.{folder}/{name}", unit.path


def _expand(text: str, name: str, instance: str) -> str:
    prefix = name.partition("@")[0].rpartition(".")[0] if "@" not in name else name.partition("@")[0]
    for specifier, value in (("%i", instance), ("%n", name), ("%p", prefix), ("%%", "%")):
        text = text.replace(specifier, value)
    return text


def _links(root: Root, name: str) -> Iterator[str]:
    """Links in the configuration that enable a unit: below a target, or as another name. A template's are its
    instances'."""
    for entry in root.list(CONFIG):
        path = f"{CONFIG}/{entry}"
        if entry.endswith((".wants", ".requires", ".upholds")):
            for link in root.list(path):
                if link == name or unitfiles.template_of(link) == name:
                    yield f"{path}/{link}"
        elif unitfiles.is_unit(entry) and entry != name:
            status = root.stat(path)
            if status is not None and posixpath.basename(status.target) == name:
                yield path


def _preset_enables(root: Root, name: str) -> bool:
    """The first matching line in the files by name; enabled when none says anything."""
    files: dict[str, str] = {}
    for prefix in PRESET_FOLDERS:
        for file in root.list(f"{prefix}/systemd/system-preset"):
            if file.endswith(".preset"):
                files.setdefault(file, f"{prefix}/systemd/system-preset/{file}")
    for file in sorted(files):
        for line in root.read_text(files[file]).splitlines():
            words = line.split()
            if len(words) >= 2 and words[0] in ("enable", "disable") and fnmatch.fnmatchcase(name, words[1]):
                return words[0] == "enable"
    return True
