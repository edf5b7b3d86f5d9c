from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mco.base.errors import Conflict, Unsupported
from mco.host.errors import FileError
from mco.host.journal import Journal
from mco.host.preimage import capture
from mco.host.records import JournalState
from mco.host.root import Root


@pytest.fixture
def journal(root: Root) -> Iterator[Journal]:
    made = Journal(root, "/state/journal")
    yield made
    made.close()


def fresh(journal: Journal, root: Root) -> JournalState:
    """What a process sees that starts now."""
    found = Journal(root, journal.folder).read()
    assert found is not None
    return found


def phases(state: JournalState) -> list[str]:
    return [action.phase for action in state.actions]


def test_there_is_none_before_the_first_update(journal: Journal) -> None:
    assert journal.read() is None


def test_an_update_is_told_by_its_records(journal: Journal, root: Root) -> None:
    journal.begin("rendered-a", "rendered-b", "boot-1", [{"write": "/etc/motd"}, {"enable": ["a.service"]}])
    assert fresh(journal, root).next == 0
    journal.before(0, [capture(root, "/etc/motd")])
    assert (phases(fresh(journal, root)), fresh(journal, root).to_undo) == (["started", "pending"], (0,))
    journal.after(0)
    journal.before(1, note={"was": "disabled"})
    journal.after(1)
    journal.rebooting("boot-1")
    state = fresh(journal, root)
    assert (state.source, state.target, state.boot_id) == ("rendered-a", "rendered-b", "boot-1")
    assert (state.next, state.reboots, state.finished) == (None, ("boot-1",), False)
    assert state.actions[0].action == {"write": "/etc/motd"}
    assert state.actions[1].note == {"was": "disabled"}
    journal.done()
    assert fresh(journal, root).outcome == "done"


def test_undoing_is_told_too(journal: Journal, root: Root) -> None:
    journal.begin("a", "b", "boot", [1, 2, 3])
    for index in (0, 1):
        journal.before(index)
        journal.after(index)
    journal.before(2)
    journal.undoing("write /etc/motd: no space left on device")
    assert fresh(journal, root).to_undo == (2, 1, 0)
    journal.undone(2)
    state = fresh(journal, root)
    assert (state.undoing, state.reason) == (True, "write /etc/motd: no space left on device")
    assert state.to_undo == (1, 0)
    journal.undone(1)
    journal.undone(0)
    journal.failed()
    assert (fresh(journal, root).outcome, fresh(journal, root).to_undo) == ("failed", ())


def test_pre_images_come_back_and_go_when_the_update_is_finished(journal: Journal, root: Root) -> None:
    root.write("/etc/motd", b"old", mode=0o640, owner=(1, 2))
    image = capture(root, "/etc/motd")
    journal.begin("a", "b", "boot", [1])
    journal.before(0, [image, capture(root, "/etc/issue")])
    again = Journal(root, journal.folder)
    assert again.images(0)[0] == image
    assert again.images(0)[1].kind == "absent"
    journal.after(0)
    journal.done()
    assert root.list("/state/journal/pre") == []


def test_the_first_pre_image_wins(journal: Journal, root: Root) -> None:
    """After a crash in the middle of an action, what is there may be its effect."""
    root.write("/f", b"old")
    journal.begin("a", "b", "boot", [1])
    journal.before(0, [capture(root, "/f")])
    root.write("/f", b"new")
    journal.before(0, [capture(root, "/f")])
    assert journal.images(0)[0].data == b"old"
    journal.after(0)
    journal.after(0)
    journal.before(0, [capture(root, "/f")])
    assert journal.images(0)[0].data == b"old"
    assert phases(fresh(journal, root)) == ["applied"]


def test_nobody_else_can_read_it(journal: Journal, root: Root) -> None:
    root.write("/secret", b"s", mode=0o600)
    journal.begin("a", "b", "boot", [1])
    journal.before(0, [capture(root, "/secret")])
    for path, status in root.walk("/state/journal"):
        assert status.permissions == (0o700 if status.is_dir else 0o600), path
        assert status.owner == (0, 0)


def test_an_unfinished_update_is_in_the_way_of_another(journal: Journal, root: Root) -> None:
    journal.begin("a", "b", "boot", [1])
    with pytest.raises(Conflict, match="the update from a to b is not finished"):
        Journal(root, journal.folder).begin("b", "c", "boot", [1])
    journal.done()
    second = journal.begin("b", "c", "boot", [1])
    assert (second.source, second.id) == ("b", "2")


def run(journal: Journal, root: Root) -> None:
    journal.begin("a", "b", "boot", [1, 2])
    for index in (0, 1):
        journal.before(index, [capture(root, f"/f{index}")])
        journal.after(index)
    journal.rebooting("boot")


def test_a_torn_last_line_is_dropped_at_every_length(journal: Journal, root: Root, folder: Path) -> None:
    run(journal, root)
    log = folder / "state" / "journal" / "log"
    data = log.read_bytes()
    whole = [index + 1 for index, byte in enumerate(data) if byte == ord("\n")]
    for size in range(whole[0], len(data) + 1):
        log.write_bytes(data[:size])
        state = fresh(journal, root)
        records = sum(end <= size for end in whole)
        expected = [["pending"] * 2, ["started", "pending"], ["applied", "pending"], ["applied", "started"]]
        assert phases(state) == [*expected, ["applied"] * 2, ["applied"] * 2][records - 1]


@pytest.mark.parametrize("torn", [b'{"sum":"', b"\0" * 40, b"\0" * 40 + b"\n", b'{"sum":"x","record":{}}\n'])
def test_writing_goes_on_behind_the_last_whole_record(
    journal: Journal, root: Root, folder: Path, torn: bytes
) -> None:
    run(journal, root)
    log = folder / "state" / "journal" / "log"
    log.write_bytes(log.read_bytes() + torn)
    again = Journal(root, journal.folder)
    again.read()
    again.done()
    assert fresh(journal, root).outcome == "done"


Damage = Callable[[list[bytes]], list[bytes]]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [lines[0], b"{}\n", *lines[2:]], "line 2 is damaged"),
        (lambda lines: [lines[0], lines[1].replace(b"before", b"befOre"), *lines[2:]], "line 2 is damaged"),
        (lambda lines: [lines[1], *lines[2:]], "the first record is no beginning"),
        (lambda lines: [lines[0], lines[0]], "a second beginning"),
        (lambda lines: [lines[0], lines[2]], "action 0 is pending and cannot become applied"),
        (lambda lines: [b"garbage\n"], "no whole record"),
    ],
)
def test_damage_is_an_error_and_never_a_guess(
    journal: Journal, root: Root, folder: Path, damage: Damage, message: str
) -> None:
    run(journal, root)
    log = folder / "state" / "journal" / "log"
    log.write_bytes(b"".join(damage(log.read_bytes().splitlines(keepends=True))))
    with pytest.raises(FileError, match=message) as caught:
        Journal(root, journal.folder).read()
    assert caught.value.path == "/state/journal/log"


def test_a_damaged_pre_image_is_not_restored(journal: Journal, root: Root, folder: Path) -> None:
    root.write("/f", b"old")
    journal.begin("a", "b", "boot", [1])
    journal.before(0, [capture(root, "/f")])
    (stored,) = (folder / "state" / "journal" / "pre" / "1").iterdir()
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(bytes(data))
    with pytest.raises(FileError, match=r"the pre-image of /f .* is damaged"):
        Journal(root, journal.folder).images(0)


def test_a_newer_version_is_refused_and_left_alone(journal: Journal, root: Root, folder: Path) -> None:
    from mco.host.records import Begin, encode_line

    newer = Begin(version=2, id="1", source="a", target="b", boot_id="c", actions=())
    root.write("/state/journal/log", encode_line(newer), mode=0o600)
    with pytest.raises(Unsupported, match="version 2, this program reads up to 1"):
        journal.read()
    with pytest.raises(Unsupported):
        journal.begin("b", "c", "boot", [])
    assert (folder / "state" / "journal" / "log").read_bytes() == encode_line(newer)


def test_records_need_an_update(journal: Journal) -> None:
    with pytest.raises(Conflict, match="no update has begun"):
        journal.after(0)


def test_pre_images_of_an_earlier_update_are_not_mixed_up(journal: Journal, root: Root) -> None:
    """Left behind when the machine crashed between the last record and the clean-up."""
    root.write("/f", b"first")
    journal.begin("a", "b", "boot", [1])
    journal.before(0, [capture(root, "/f")])
    journal.failed()
    root.write("/state/journal/pre/1/0-0", b"stale")
    root.write("/f", b"second")
    journal.begin("b", "c", "boot", [1])
    journal.before(0, [capture(root, "/f")])
    assert journal.images(0)[0].data == b"second"
    assert root.list("/state/journal/pre") == ["2"]


def test_the_log_is_text_that_a_person_can_read(journal: Journal, root: Root, folder: Path) -> None:
    run(journal, root)
    lines = (folder / "state" / "journal" / "log").read_text().splitlines()
    assert len(lines) == 6
    assert all('"kind":"' in line for line in lines)
    assert os.stat(folder / "state" / "journal" / "log").st_mode & 0o777 == 0o600
