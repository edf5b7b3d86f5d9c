"""A preview as text for people: what changes, then what a node would do, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mco.plan.preview.accounts import AccountChanges, Key, UserChange
from mco.plan.preview.contents import Contents, Side
from mco.plan.preview.files import FileChange
from mco.plan.preview.parts import Change, ListChange
from mco.plan.preview.preview import Preview
from mco.plan.preview.units import DropinChange, UnitChange

Paint = Callable[[str, str], str]
"""Gives a text in a colour: green, red, yellow, cyan or bold."""

_SIGNS = {
    "added": ("+", "green"),
    "removed": ("-", "red"),
    "changed": ("~", "yellow"),
    "moved": (">", "cyan"),
}


class Writer:
    """`lines`: how many lines of one diff are shown; None for all of them."""

    def __init__(self, paint: Paint, lines: int | None) -> None:
        self._paint = paint
        self._lines = lines

    def text(self, found: Preview) -> str:
        parts = (
            (f"{visible(found.old)} -> {visible(found.new)}",),
            self._part("Files", map(self._file, found.files)),
            self._part("Units", map(self._unit, found.units)),
            self._part("Users", [self._accounts(found.passwd)] if found.passwd else ()),
            self._part("System", [self._system(found)]),
            self._part("Not looked at by a running node", [[f"  {name}" for name in found.ignored]]),
            self._verdict(found),
        )
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def _part(self, title: str, items: Iterable[Iterable[str]]) -> tuple[str, ...]:
        lines = tuple(line for item in items for line in item)
        return (self._paint(title, "bold"), *lines) if lines else ()

    def _sign(self, change: str, text: str, indent: str = "  ") -> str:
        sign, colour = _SIGNS[change]
        return f"{indent}{self._paint(f'{sign} {visible(text)}', colour)}"

    # Files and units

    def _file(self, file: FileChange) -> Iterator[str]:
        facts = _facts(file, mode=file.mode, owner=file.owner)
        facts += [name for name in ("encoding", "overwrite", "append") if name in file.attributes]
        yield self._sign(file.change, file.path) + (f"  {', '.join(facts)}" if facts else "")
        yield from self._contents(file.contents)

    def _unit(self, unit: UnitChange) -> Iterator[str]:
        facts = _facts(unit, enabled=unit.enabled, mask=unit.mask)
        yield self._sign(unit.change, unit.name) + (f"  {', '.join(facts)}" if facts else "")
        yield from self._contents(unit.contents)
        for dropin in unit.dropins:
            yield from self._dropin(dropin)

    def _dropin(self, dropin: DropinChange) -> Iterator[str]:
        yield self._sign(dropin.change, f"drop-in {dropin.name}", "    ")
        yield from self._contents(dropin.contents)

    def _contents(self, contents: Contents | None) -> Iterator[str]:
        if contents is None:
            return
        match contents.kind:
            case "masked":
                yield "      (contents look secret and are not shown)"
            case "unreadable":
                yield "      (contents cannot be decoded)"
            case "text":
                yield from self._diff(contents.diff)
            case kind:
                yield f"      ({kind}: {_side(contents.old)} -> {_side(contents.new)})"

    def _diff(self, diff: str) -> Iterator[str]:
        lines = diff.split("\n")[:-1]
        shown = lines if self._lines is None else lines[: self._lines]
        for line in shown:
            yield f"      {self._coloured(visible(line))}"
        if len(shown) < len(lines):
            yield f"      ({len(lines) - len(shown)} more lines; --full shows them)"

    def _coloured(self, line: str) -> str:
        if line.startswith(("--- ", "+++ ")):
            return self._paint(line, "bold")
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        return self._paint(line, colour) if colour else line

    # Accounts and the system

    def _accounts(self, changes: AccountChanges) -> Iterator[str]:
        for user in changes.users:
            yield self._sign(user.change, user.name)
            yield from (f"      {fact}" for fact in _user(user))
        for group in changes.groups:
            yield self._sign("changed", f"group {group}")
        if not changes.users and not changes.groups:
            yield "  only the order differs"

    def _system(self, found: Preview) -> Iterator[str]:
        single = (("OS image", found.os), ("kernel type", found.kernel_type), ("FIPS", found.fips))
        for name, change in single:
            if change is not None:
                yield f"  {visible(_change(name, change))}"
        yield from self._list("kernel arguments", found.kernel_arguments)
        yield from self._list("extensions", found.extensions)

    def _list(self, name: str, change: ListChange | None) -> Iterator[str]:
        if change is None:
            return
        yield f"  {name}{', reordered' if change.reordered else ''}"
        for word in change.removed:
            yield self._sign("removed", word, "    ")
        for word in change.added:
            yield self._sign("added", word, "    ")
        if change.reordered:
            yield f"    now: {visible(' '.join(change.new))}"

    # The verdict

    def _verdict(self, found: Preview) -> tuple[str, ...]:
        if not found.reconcilable:
            text = "A running node cannot follow this change"
            return (self._paint(text, "red"), *(f"  {visible(line)}" for line in found.reason.splitlines()))
        lines = []
        if found.refused:
            lines.append(self._paint("The daemon refuses this config", "red"))
            for problem in found.refused:
                lines += [
                    f"  {visible(problem.path)}: {visible(problem.message)}",
                    f"    hint: {problem.hint}",
                ]
            lines.append("")
        lines.append(self._paint("What a node would do", "bold"))
        numbered = [f"  {number}. {visible(why)}" for number, why in enumerate(found.because, 1)]
        lines += numbered or ["  nothing: the policies of what changes ask for nothing"]
        lines.append(f"  drain: {_yes(found.drain)} ({visible(found.drain_because)})")
        lines.append(f"  reboot: {_yes(found.reboot)}")
        return tuple(lines)


def visible(text: str) -> str:
    """What a terminal would obey rather than print is written as an escape."""
    return "".join(
        character
        if character.isprintable() or character == "\t"
        else character.encode("unicode_escape", "backslashreplace").decode()
        for character in text
    )


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return _yes(value)
    return "unset" if value is None else str(value) or "none"


def _facts(item: FileChange | UnitChange, **changes: Change[str] | Change[bool] | None) -> list[str]:
    """What is new of something added, both sides of what changed, nothing of what is gone."""
    if item.change == "moved":
        return ["only the order differs"]
    differing = ((name, change) for name, change in changes.items() if change is not None)
    if item.change == "changed":
        return [_change(name, change) for name, change in differing]
    return [f"{name} {_word(change.new)}" for name, change in differing if change.new is not None]


def _change(name: str, change: Change[str] | Change[bool]) -> str:
    return f"{name} {_word(change.old)} -> {_word(change.new)}"


def _side(side: Side | None) -> str:
    if side is None:
        return "nothing"
    return f"{side.size} byte{'' if side.size == 1 else 's'}, sha256 {side.sha256[:12]}"


def _user(user: UserChange) -> Iterator[str]:
    yield from (f"SSH key added: {_key(key)}" for key in user.keys_added)
    yield from (f"SSH key removed: {_key(key)}" for key in user.keys_removed)
    if user.keys_reordered:
        yield "SSH keys reordered"
    if user.password:
        yield f"password hash {user.password} (not shown)"
    if user.attributes:
        yield f"also differs: {', '.join(user.attributes)}"


def _key(key: Key) -> str:
    if not key.fingerprint:
        return "a text that is no SSH key (not shown)"
    return visible(" ".join(word for word in (key.fingerprint, key.type, key.comment) if word))
