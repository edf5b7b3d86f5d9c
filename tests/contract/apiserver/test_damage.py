"""What cannot be kept is refused clearly, what is damaged is not served: the embedded server's own file."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mco.apiserver.server import Settings
from mco.apiserver.store import database
from mco.base.errors import Conflict, InvalidInput
from tests import smalldisk
from tests.contract.apiserver.embedded import Nursery, in_thread
from tests.contract.apiserver.endpoint import Api, Body

MAPS = "/api/v1/namespaces/default/configmaps"
NAMES = [f"c{number}" for number in range(20)]
FLIPS = 40


def test_a_second_server_on_the_folder_is_refused(tmp_path: Path) -> None:
    with (
        in_thread(Settings(data_dir=tmp_path)),
        pytest.raises(Conflict, match="another API server uses this data folder"),
        in_thread(Settings(data_dir=tmp_path)),
    ):
        pass


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="another program"), in_thread(Settings(data_dir=tmp_path)):
        pass
    assert path.read_bytes() == before


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Body]]:
    """The folder of a server that ended in peace, and what it held."""
    folder = tmp_path_factory.mktemp("closed")
    with in_thread(Settings(data_dir=folder)) as server:
        return folder, asyncio.run(_fill(server.kubeconfig.read_bytes()))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Body]]:
    """The folder of a server that was killed: everything is still in the log."""
    folder = tmp_path_factory.mktemp("killed")
    with Nursery(folder) as nursery:
        items = asyncio.run(_fill(nursery.start()))
    assert _log(folder).stat().st_size > 100_000
    return folder, items


async def _fill(kubeconfig: bytes) -> list[Body]:
    async with Api.of(kubeconfig) as api:
        for name in NAMES:
            await api.create(MAPS, {"metadata": {"name": name}, "data": {"k": name * 1500}})
        for name in NAMES[::3]:
            await api.patch(f"{MAPS}/{name}", {"data": {"k": "changed"}})
        for name in NAMES[1::7]:
            await api.delete(f"{MAPS}/{name}")
    return await _items(kubeconfig)


async def _items(kubeconfig: bytes) -> list[Body]:
    async with Api.of(kubeconfig) as api:
        items: list[Body] = (await api.get(MAPS)).body["items"]
        return items


def _file(folder: Path) -> Path:
    return folder / "objects.db"


def _log(folder: Path) -> Path:
    return folder / "objects.db-wal"


def _copy(folder: Path, to: Path) -> None:
    for path in (_file(folder), _log(folder)):
        if path.exists():
            shutil.copy(path, to / path.name)


def _serve(folder: Path) -> list[Body]:
    """What a server on the folder serves. Raises InvalidInput when it does not start."""
    with in_thread(Settings(data_dir=folder)) as server:
        return asyncio.run(_items(server.kubeconfig.read_bytes()))


def _refusal(folder: Path) -> str:
    """Why a server does not start there; empty when it does."""
    try:
        database.prepare(_file(folder))
    except InvalidInput as error:
        return str(error)
    return ""


_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda raw: b"",
    "replaced": lambda raw: b"garbage" * 1000,
    "overwritten": lambda raw: raw[:4096] + b"\xff" * (len(raw) - 4096),
    "cut in the middle": lambda raw: raw[: len(raw) // 2],
    "cut by a page": lambda raw: raw[:-4096],
}


@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_a_damaged_file_is_refused_and_left_as_it_is(
    tmp_path: Path, closed: tuple[Path, list[Body]], damage: Callable[[bytes], bytes]
) -> None:
    path = _file(tmp_path)
    damaged = damage(_file(closed[0]).read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(InvalidInput, match="the database is damaged") as caught:
        _serve(tmp_path)
    assert (caught.value.path, bool(caught.value.hint)) == (str(path), True)
    assert path.read_bytes() == damaged


def test_no_flipped_bit_of_the_file_goes_unnoticed(tmp_path: Path, closed: tuple[Path, list[Body]]) -> None:
    """Wherever it is, the server says so or the bit meant nothing."""
    folder, items = closed
    raw = _file(folder).read_bytes()
    refused = 0
    for number in range(FLIPS):
        damaged = bytearray(raw)
        damaged[len(raw) * number // FLIPS + 7] ^= 1
        _file(tmp_path).write_bytes(damaged)
        if refusal := _refusal(tmp_path):
            assert re.search("damaged|layout|another program", refusal)
            refused += 1
        else:
            assert _serve(tmp_path) == items
    assert refused > FLIPS / 2


def test_a_log_that_breaks_off_in_its_last_transaction_is_that_of_a_crash(
    tmp_path: Path, killed: tuple[Path, list[Body]]
) -> None:
    folder, items = killed
    _copy(folder, tmp_path)
    with _log(tmp_path).open("r+b") as log:
        log.truncate(_log(folder).stat().st_size - 100)
    assert len(_serve(tmp_path)) in (len(items), len(items) + 1), "the last one was a deletion"


def test_no_flipped_bit_of_the_log_goes_unnoticed(tmp_path: Path, killed: tuple[Path, list[Body]]) -> None:
    """In the last transaction it may be taken for a crash: nothing that came before is lost."""
    folder, items = killed
    raw = _log(folder).read_bytes()
    refused = 0
    for number in range(FLIPS):
        _copy(folder, tmp_path)
        damaged = bytearray(raw)
        damaged[len(raw) * number // FLIPS + 7] ^= 1
        _log(tmp_path).write_bytes(damaged)
        if refusal := _refusal(tmp_path):
            assert "the database is damaged" in refusal
            assert _log(tmp_path).read_bytes() == damaged
            refused += 1
        else:
            assert len(_serve(tmp_path)) in (len(items), len(items) + 1)
    assert refused > FLIPS / 2


def test_a_log_without_its_file_is_refused(tmp_path: Path, killed: tuple[Path, list[Body]]) -> None:
    shutil.copy(_log(killed[0]), _log(tmp_path))
    with pytest.raises(InvalidInput, match="the file is gone, its log is not"):
        _serve(tmp_path)
    assert not _file(tmp_path).exists()


def test_a_draft_that_a_crash_left_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "objects.db.new").write_bytes(b"half")
    assert _serve(tmp_path) == []


async def test_a_locked_database_is_reported_and_then_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with in_thread(Settings(data_dir=tmp_path)) as server:
        other = sqlite3.connect(_file(tmp_path), isolation_level=None)
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            other.execute("BEGIN IMMEDIATE")
            refused = await api.post(MAPS, {"metadata": {"name": "a"}})
            assert (refused.status, refused.body["reason"]) == (503, "ServiceUnavailable")
            assert refused.message == "another program holds the database's lock"
            assert refused.headers["Retry-After"] == "1"
            assert (await api.get(f"{MAPS}/a")).status == 404
            other.execute("ROLLBACK")
            other.close()
            await api.create(MAPS, {"metadata": {"name": "a"}})


async def test_a_full_disk_is_reported_and_nothing_is_half_written() -> None:
    with smalldisk.small_disk("4m") as folder:
        with in_thread(Settings(data_dir=folder)) as server:
            async with Api.of(server.kubeconfig.read_bytes()) as api:
                await api.create(MAPS, {"metadata": {"name": "before"}})
                ballast = smalldisk.fill(folder)
                written = await _fill_up(api)
                assert await _names(api) == ["before", *written]
                ballast.unlink()
                await api.create(MAPS, {"metadata": {"name": "later"}})
        items = await asyncio.to_thread(_serve, folder)
        assert [item["metadata"]["name"] for item in items] == ["before", *written, "later"]


async def _fill_up(api: Api) -> list[str]:
    """Creates objects until one is refused."""
    for number in range(100):
        body = {"metadata": {"name": f"big-{number:02}"}, "data": {"k": "x" * 100_000}}
        reply = await api.post(MAPS, body)
        if reply.status != 201:
            break
    assert (reply.status, reply.body["reason"]) == (503, "ServiceUnavailable")
    assert reply.message == "no space is left for the database"
    return [f"big-{done:02}" for done in range(number)]


async def _names(api: Api) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.get(MAPS)).body["items"]]
