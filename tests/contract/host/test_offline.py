"""Our own `systemctl --root` beside the real one: the same links, words and exit statuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mco.host.commands import Output
from mco.host.fake import offline
from mco.host.fake.programs import FakePrograms, real_systemctl
from mco.host.fake.state import StateFile
from mco.host.fake.units import Units
from mco.host.root import Root

pytestmark = pytest.mark.skipif(shutil.which("systemctl") is None, reason="needs systemctl to compare with")

SERVICE = "[Service]\nExecStart=/bin/true\n"
INSTALL = f"{SERVICE}[Install]\nWantedBy=multi-user.target\n"
UNITS = {
    "a.service": INSTALL,
    "al.service": f"{SERVICE}[Install]\nAlias=alias.service\nAlso=a.service\nRequiredBy=x.target\n",
    "st.service": SERVICE,
    "t@.service": f"{INSTALL}DefaultInstance=d\n",
    "t2@.service": INSTALL,
    "ind.service": f"{SERVICE}[Install]\nAlso=a.service\n",
    "em.service": "",
    "spec@.service": f"{SERVICE}[Install]\nWantedBy=%i.target\n",
    "reset.service": f"{INSTALL}WantedBy=\nWantedBy=other.target\n",
    "two.service": f"{SERVICE}[Install]\nWantedBy=multi-user.target graphical.target\n# x\n; y\n",
    "sock.socket": "[Socket]\nListenStream=/run/x\n[Install]\nWantedBy=sockets.target\n",
}
NAMES = (
    "a.service", "al.service", "alias.service", "st.service", "t@.service", "t@x.service", "t2@.service",
    "t2@y.service", "ind.service", "em.service", "m.service", "v.service", "spec@z.service", "reset.service",
    "two.service", "sock.socket", "none.service",
)  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Root:
    root = Root(tmp_path)
    for name, text in UNITS.items():
        root.write(f"{offline.CONFIG}/{name}", text.encode(), owner=None)
    root.write("/usr/lib/systemd/system/v.service", INSTALL.encode(), owner=None)
    root.write(f"{offline.CONFIG}/a.service.d/x.conf", b"[Install]\nWantedBy=extra.target\n", owner=None)
    root.symlink(f"{offline.CONFIG}/m.service", "/dev/null", owner=None)
    root.write("/etc/systemd/system-preset/10.preset", b"# c\ndisable al*\nenable a.service\n", owner=None)
    root.write("/usr/lib/systemd/system-preset/90.preset", b"disable two.service\n", owner=None)
    return root


def links(root: Root) -> dict[str, str]:
    return {path: status.target for path, status in root.walk(offline.CONFIG) if status.is_symlink}


class Pair:
    """The same tree twice: one for the real program, one for ours."""

    def __init__(self, root: Root, folder: Path) -> None:
        self.theirs, self.ours = root, Root(folder)
        units = Units(root, StateFile(folder / "state"))
        self.programs = FakePrograms(root, units, real_systemctl(), lambda reason: None)

    def run(self, verb: str, *names: str) -> Output:
        theirs = self.programs.attempt("systemctl", verb, "--", *names)
        ours = offline.systemctl(self.ours, verb, names)
        assert (ours.status, links(self.ours)) == (theirs.status, links(self.theirs)), (verb, names)
        if verb == "is-enabled":
            assert ours.stdout == theirs.stdout, names
        return ours


@pytest.fixture
def pair(root: Root, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("ours")
    shutil.copytree(root.path, folder, symlinks=True, dirs_exist_ok=True)
    return Pair(root, folder)


@pytest.mark.parametrize("name", NAMES)
def test_each_unit_goes_through_all_verbs_alike(pair: Pair, name: str) -> None:
    for verb in ("is-enabled", "enable", "is-enabled", "enable", "disable", "is-enabled", "disable"):
        pair.run(verb, name)
    for verb in ("preset", "is-enabled", "mask", "is-enabled", "enable", "unmask", "is-enabled"):
        pair.run(verb, name)


@pytest.mark.parametrize("bad", ["none.service", "m.service", "em.service", "t2@.service"])
@pytest.mark.parametrize("verb", ["enable", "preset"])
def test_one_bad_unit_in_a_list(pair: Pair, verb: str, bad: str) -> None:
    pair.run(verb, "a.service", bad, "two.service")
    pair.run("is-enabled", "a.service", "two.service")


def test_lists(pair: Pair) -> None:
    pair.run("enable", "a.service", "two.service", "t@x.service", "t@y.service")
    pair.run("is-enabled", "a.service", "st.service", "two.service", "reset.service")
    pair.run("is-enabled", "a.service", "none.service", "two.service")
    pair.run("disable", "a.service", "none.service", "t@x.service")
    pair.run("disable", "t@.service")


def test_the_same_unit_files_are_listed(pair: Pair) -> None:
    def listed(output: str) -> dict[str, str]:
        return {line.split()[0]: line.split()[1] for line in output.splitlines()}

    pair.run("enable", "a.service")
    theirs = pair.programs.run("systemctl", "list-unit-files", "--no-legend", "--no-pager", "--plain")
    ours = offline.systemctl(pair.ours, "list-unit-files", ())
    assert listed(ours.stdout) == listed(theirs)
