"""The journal of an update on the disk, from which a crash at any point is resumed or undone.

`FOLDER/log` is append-only; every record is synced before the call returns, so the order on the disk is:
before (with the pre-images), the action's effect, after. `FOLDER/pre/<id>/` holds the pre-images until the
update is finished. A last line that a crash tore is dropped; damage anywhere else is an error, never a guess.
All of it is readable by root only: the pre-images hold file contents.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.base.errors import Conflict, Unsupported
from mco.host import records
from mco.host.errors import FileError, printable, system_errors
from mco.host.preimage import PreImage
from mco.host.records import ImageRef, JournalState, Record
from mco.host.root import Root

FOLDER = f"{names.STATE_FOLDER}/journal"
_LIMIT = 256 << 20

_line = msgspec.json.Decoder(records.Line)
_record: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Version(msgspec.Struct, frozen=True):
    version: int = 0


class Journal:
    """One writer at a time (`lock.py`). The state is read once and kept in step with what is written."""

    def __init__(self, root: Root, folder: str = FOLDER) -> None:
        self._root = root
        self.folder = folder
        self._log = f"{folder}/log"
        self._fd = -1
        self._size = 0
        self._state: JournalState | None = None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def state(self) -> JournalState | None:
        """As of the last `read`, `begin` or record."""
        return self._state

    def read(self) -> JournalState | None:
        """The last update, finished or not; None when there was none. Raises Unsupported for a journal of a
        newer version and FileError for a damaged one."""
        self.close()
        data = self._root.read_optional(self._log, _LIMIT)
        self._state, self._size = None, 0
        if data is not None:
            self._state, self._size = self._parse(data)
        return self._state

    # Writing

    def begin(self, source: str, target: str, boot_id: str, actions: Sequence[Any]) -> JournalState:
        """A new update in place of a finished one. Raises Conflict while another is unfinished."""
        found = self.read()
        if found is not None and not found.finished:
            raise Conflict(
                f"the update from {found.source} to {found.target} is not finished",
                path=self._log,
                hint="resume or undo it first",
            )
        number = int(found.id) + 1 if found else 1
        begin = records.Begin(
            version=records.VERSION,
            id=str(number),
            source=source,
            target=target,
            boot_id=boot_id,
            actions=tuple(actions),
        )
        line = records.encode_line(begin)
        self._root.mkdir(self.folder, 0o700)
        self._root.write(self._log, line, mode=0o600)
        self._state, self._size = records.begun(begin), len(line)
        self._drop_images(keep=begin.id)
        return self._state

    def before(self, index: int, images: Sequence[PreImage] = (), note: Any = None) -> None:
        """Comes before an action's effect: `images` is what it will change, `note` whatever else undoing it
        needs. A second `before` of an action changes nothing: what is there by now may be the effect, the
        first pre-images and note are the right ones."""
        if self._need().actions[index].phase in ("started", "applied"):
            return
        refs = tuple(self._keep(index, number, image) for number, image in enumerate(images))
        self._append(records.Before(index=index, images=refs, note=note))

    def after(self, index: int) -> None:
        """The action's effect is complete and synced. Repeating it changes nothing."""
        if self._need().actions[index].phase == "applied":
            return
        self._append(records.After(index=index))

    def undoing(self, reason: str) -> None:
        self._append(records.Undoing(reason=reason))

    def undone(self, index: int) -> None:
        self._append(records.Undone(index=index))

    def rebooting(self, boot_id: str) -> None:
        self._append(records.Rebooting(boot_id=boot_id))

    def done(self) -> None:
        self._finish(records.Finished(outcome="done"))

    def failed(self, reason: str = "") -> None:
        self._finish(records.Finished(outcome="failed", reason=reason))

    def images(self, index: int) -> tuple[PreImage, ...]:
        """Pre-images of an action, in the order given. Raises FileError when one is damaged."""
        return tuple(self._load(ref) for ref in self._need().actions[index].images)

    # Mechanics

    def _need(self) -> JournalState:
        state = self._state if self._state is not None else self.read()
        if state is None:
            raise Conflict("no update has begun", path=self._log)
        return state

    def _finish(self, record: records.Finished) -> None:
        self._append(record)
        self.close()
        self._drop_images(keep="")

    def _append(self, record: Record) -> None:
        state = records.advance(self._need(), record)
        line = records.encode_line(record)
        with system_errors("write", self._log):
            fd = self._open()
            try:
                self._root.effects.write(fd, line)
                self._root.effects.sync(fd)
            except OSError:
                # What was written in part would be taken for a torn end, and the next record glued to it.
                self.close()
                raise
        self._size += len(line)
        self._state = state

    def _open(self) -> int:
        """For appending, without what a crash left behind the last whole record."""
        if self._fd < 0:
            self._fd = self._root.append(self._log)
            if os.fstat(self._fd).st_size > self._size:
                self._root.effects.truncate(self._fd, self._size)
        return self._fd

    def _parse(self, data: bytes) -> tuple[JournalState, int]:
        """State, and length of the part that is whole."""
        found: list[Record] = []
        size = 0
        broken = 0
        for number, line in enumerate(data.split(b"\n")[:-1], start=1):
            record = self._decode(line)
            if record is None:
                broken = broken or number
            elif broken:
                raise self._damaged(f"line {broken} is damaged")
            else:
                found.append(record)
                size += len(line) + 1
        if not found:
            raise self._damaged("there is no whole record in it")
        begin, *rest = found
        if not isinstance(begin, records.Begin):
            raise self._damaged("the first record is no beginning")
        try:
            return records.replay(begin, rest), size
        except ValueError as error:
            raise self._damaged(str(error)) from error

    def _decode(self, text: bytes) -> Record | None:
        """None for a line that is not whole."""
        try:
            line = _line.decode(text)
        except msgspec.MsgspecError:
            return None
        if records.checksum(line.record) != line.sum:
            return None
        version = msgspec.json.decode(line.record, type=_Version).version
        if version > records.VERSION:
            raise Unsupported(
                f"the journal has version {version}, this program reads up to {records.VERSION}",
                path=self._log,
                hint="run the newer version again until it has finished the update",
            )
        try:
            return _record.decode(line.record)
        except msgspec.ValidationError as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> FileError:
        return FileError(
            f"journal {printable(self._log)}: {what}",
            path=self._log,
            hint="compare the machine with its config by hand, then remove the journal",
        )

    def _keep(self, index: int, number: int, image: PreImage) -> ImageRef:
        data = msgspec.msgpack.encode(image)
        file = f"{self._need().id}/{index}-{number}"
        self._root.write(f"{self.folder}/pre/{file}", data, mode=0o600, dir_mode=0o700)
        return ImageRef(path=printable(image.path), file=file, sum=records.checksum(data))

    def _load(self, ref: ImageRef) -> PreImage:
        data = self._root.read(f"{self.folder}/pre/{ref.file}", _LIMIT * 2)
        if records.checksum(data) != ref.sum:
            raise self._damaged(f"the pre-image of {ref.path} ({ref.file}) is damaged")
        return msgspec.msgpack.decode(data, type=PreImage)

    def _drop_images(self, keep: str) -> None:
        """Of finished updates. A crash before this leaves some, which the next beginning removes."""
        for name in self._root.list(f"{self.folder}/pre"):
            if name != keep:
                self._root.remove_tree(f"{self.folder}/pre/{name}")
