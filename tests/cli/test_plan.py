"""`mco plan` on files."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_render import PROGRAM, mco
from tests.daemon.builders import config, file, unit
from tests.unit.plan.node.configs import plain

POLICY = {
    "apiVersion": "operator.openshift.io/v1",
    "kind": "MachineConfiguration",
    "metadata": {"name": "cluster"},
    "spec": {
        "nodeDisruptionPolicy": {
            "files": [
                {
                    "path": "/etc/app",
                    "actions": [{"type": "Restart", "restart": {"serviceName": "app.service"}}],
                }
            ]
        }
    },
}

OLD = config("old", files=[file("/etc/motd", "one\n")])
NEW = config("new", files=[file("/etc/motd", "two\n"), file("/etc/app/a.conf", "x\n")])
APP = config("app", files=[file("/etc/motd", "one\n"), file("/etc/app/a.conf", "x\n")])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in (("old", OLD), ("new", NEW), ("app", APP), ("policy", POLICY)):
        write(tmp_path / f"{name}.yaml", body)
    return tmp_path


def write(path: Path, *objects: Any) -> Path:
    path.write_text("---\n".join(yaml.safe_dump(item) for item in objects))
    return path


def plan(old: Path | str, new: Path | str, *more: str | Path, stdin: bytes = b"") -> tuple[int, Any]:
    done = mco("plan", "--from", old, "--to", new, "-o", "json", *more, stdin=stdin)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def refused(*arguments: str | Path, stdin: bytes = b"") -> str:
    done = mco("plan", *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_the_exit_code_says_what_there_is_to_do(folder: Path) -> None:
    assert plan(folder / "old.yaml", folder / "old.yaml")[0] == 0
    assert plan(folder / "old.yaml", folder / "new.yaml")[0] == 1
    fips = write(folder / "fips.yaml", config("fips", fips=True))
    assert plan(folder / "old.yaml", fips)[0] == 2


def test_the_whole_answer(folder: Path) -> None:
    code, found = plan(folder / "old.yaml", folder / "app.yaml", "--policy", folder / "policy.yaml")
    digest = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac"
    assert code == 1
    assert found == {
        "from": "rendered-worker-old",
        "to": "rendered-worker-app",
        "reconcilable": True,
        "reason": "",
        "refused": [],
        "files": [
            {
                "path": "/etc/app/a.conf",
                "change": "added",
                "attributes": [],
                "mode": {"from": None, "to": "0644"},
                "owner": {"from": None, "to": "0:0"},
                "contents": {
                    "kind": "text",
                    "from": None,
                    "to": {"size": 2, "sha256": digest},
                    "diff": "--- /dev/null\n+++ b/etc/app/a.conf\n@@ -0,0 +1 @@\n+x\n",
                },
            }
        ],
        "units": [],
        "passwd": None,
        "os": None,
        "kernelArguments": None,
        "kernelType": None,
        "extensions": None,
        "fips": None,
        "ignored": [],
        "actions": [{"type": "Restart", "service": "app.service"}],
        "drain": False,
        "drainBecause": "no action asks for it",
        "reboot": False,
        "because": ["Restart app.service: file /etc/app/a.conf matched the policy for /etc/app"],
    }


def test_without_a_policy_the_built_in_ones_count(folder: Path) -> None:
    found = plan(folder / "old.yaml", folder / "app.yaml")[1]
    assert found["actions"] == [{"type": "Reboot", "service": ""}]
    assert (found["drain"], found["reboot"]) == (True, True)


@pytest.mark.parametrize("which", ["--from", "--to", "--policy"])
def test_one_file_may_be_standard_input(folder: Path, which: str) -> None:
    arguments = {"--from": "old.yaml", "--to": "app.yaml", "--policy": "policy.yaml"}
    stdin = (folder / arguments[which]).read_bytes()
    paths = {option: folder / name for option, name in arguments.items()} | {which: Path("-")}
    code, found = plan(paths["--from"], paths["--to"], "--policy", paths["--policy"], stdin=stdin)
    assert (code, found["actions"][0]["type"]) == (1, "Restart")
    assert "only one of" in refused("--from", "-", "--to", "-")


def test_json_lists_and_other_objects_beside_it(folder: Path) -> None:
    pool = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    listed = folder / "list.json"
    listed.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pool, NEW]}))
    assert plan(write(folder / "many.yaml", pool, OLD), listed)[0] == 1
    policy = write(folder / "policies.yaml", pool, POLICY)
    assert plan(folder / "old.yaml", folder / "app.yaml", "--policy", policy)[1]["reboot"] is False


def test_an_object_as_go_writes_it(folder: Path) -> None:
    """Null lists, null times and empty structs are what a zero value looks like there."""
    body = json.loads(json.dumps(OLD))
    body["metadata"]["creationTimestamp"] = None
    body["spec"] |= {"kernelArguments": None, "extensions": None, "osImageURL": "", "kernelType": ""}
    zero = json.loads(json.dumps(POLICY))
    zero["metadata"]["creationTimestamp"] = None
    zero["spec"]["nodeDisruptionPolicy"]["sshkey"] = {"actions": None}
    zero["status"] = {"nodeDisruptionPolicyStatus": {"clusterPolicies": {"sshkey": {"actions": None}}}}
    paths = write(folder / "go.yaml", body), write(folder / "zero.yaml", zero)
    assert plan(paths[0], folder / "old.yaml", "--policy", paths[1])[0] == 0
    assert plan(paths[0], folder / "app.yaml", "--policy", paths[1])[1]["actions"][0]["type"] == "Restart"


def test_an_override_of_the_policy_object(folder: Path) -> None:
    disks = {"storage": {"disks": [{"device": "/dev/x", "wipeTable": True}]}}
    changed = write(folder / "disks.yaml", config("disks", ignition=disks))
    empty = write(folder / "empty.yaml", config("empty"))
    code, found = plan(empty, changed)
    assert (code, found["reconcilable"]) == (2, False)
    assert found["reason"].endswith("ignition disks section contains changes")
    lenient = POLICY | {"spec": {"irreconcilableValidationOverrides": {"storage": ["Disks"]}}}
    code, found = plan(empty, changed, "--policy", write(folder / "lenient.yaml", lenient))
    assert (code, found["reconcilable"], found["ignored"]) == (0, True, ["storage.disks"])


def test_a_config_that_cannot_be_parsed_is_a_verdict(folder: Path) -> None:
    broken = write(folder / "broken.yaml", config("broken", files=[plain("relative")]))
    code, found = plan(folder / "old.yaml", broken)
    assert (code, found["reconcilable"]) == (2, False)
    assert "path not absolute" in found["reason"]


def test_registries_that_cannot_be_judged(folder: Path) -> None:
    wrong = write(folder / "r.yaml", config("r", files=[file("/etc/containers/registries.conf", "= =")]))
    text = refused("--from", write(folder / "e.yaml", config("e")), "--to", wrong)
    assert "error: failed decoding TOML content from file /etc/containers/registries.conf" in text
    assert "hint: " in text


class TestBadInput:
    """Exit 2, nothing on standard output, and on the other the object, the place and what to do."""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "no MachineConfig in it"),
            ("a: b: c", "line 1, column 5"),
            ("- 1", "the document is not an object"),
            ("kind: MachineConfig", "apiVersion not set"),
            (yaml.safe_dump(OLD | {"metadata": {}}), "resource name may not be empty"),
            (yaml.safe_dump(OLD | {"spec": {"kernelArguments": "a"}}), "$.spec.kernelArguments"),
            (yaml.safe_dump(OLD) + "---\n" + yaml.safe_dump(OLD), "is defined twice"),
            (
                yaml.safe_dump(OLD) + "---\n" + yaml.safe_dump(NEW),
                "2 MachineConfigs in it",
            ),
            (
                yaml.safe_dump(OLD | {"apiVersion": "machineconfiguration.openshift.io/v2"}),
                "no MachineConfig in it",
            ),
            (yaml.safe_dump(POLICY), "no MachineConfig in it"),
        ],
    )
    def test_of_a_config(self, folder: Path, text: str, said: str) -> None:
        bad = folder / "bad.yaml"
        bad.write_text(text)
        shown = refused("--from", folder / "old.yaml", "--to", bad, "-o", "json")
        assert said in shown
        assert str(bad) in shown or "MachineConfig/" in shown

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (OLD, "no MachineConfiguration of operator.openshift.io/v1 in it"),
            (POLICY | {"apiVersion": "machineconfiguration.openshift.io/v1"}, "no MachineConfiguration of"),
            (
                POLICY | {"spec": {"nodeDisruptionPolicy": {"files": [{"path": "/a"}]}}},
                "at: MachineConfiguration/cluster $.spec.nodeDisruptionPolicy.files.0.actions",
            ),
            (
                POLICY | {"spec": {"nodeDisruptionPolicy": {"units": [{"name": "x", "actions": []}]}}},
                "x is not the name of a unit",
            ),
        ],
    )
    def test_of_a_policy(self, folder: Path, value: Any, said: str) -> None:
        policy = write(folder / "bad.yaml", value)
        sides = ("--from", folder / "old.yaml", "--to", folder / "new.yaml")
        assert said in refused(*sides, "--policy", policy)

    def test_two_policies(self, folder: Path) -> None:
        policy = write(folder / "bad.yaml", POLICY, POLICY)
        shown = refused("--from", folder / "old.yaml", "--to", folder / "new.yaml", "--policy", policy)
        assert "2 MachineConfiguration of operator.openshift.io/v1 in it, expected one" in shown

    def test_files_that_are_not_there(self, folder: Path) -> None:
        shown = refused("--from", folder / "none.yaml", "--to", folder / "old.yaml")
        assert f'the path "{folder}/none.yaml" does not exist' in shown
        assert "Missing option" in refused("--from", folder / "old.yaml")

    def test_every_problem_is_printed(self, folder: Path) -> None:
        wrong = {"files": [{"path": "/a", "actions": [{"type": "x"}]}], "unit": []}
        policy = write(folder / "bad.yaml", POLICY | {"spec": {"nodeDisruptionPolicy": wrong}})
        shown = refused("--from", folder / "old.yaml", "--to", folder / "new.yaml", "--policy", policy)
        assert shown.count("error: ") == 2


SECRETS = {
    "/var/lib/kubelet/config.json": '{"auths": {"quay.io": {"auth": "hunter2"}}}',
    "/etc/app/server.key": "hunter2",
    "/etc/app/env": "A=1\nDB_PASSWORD=hunter2\nB=2\n",
    "/etc/app/bundle.pem": "-----BEGIN PRIVATE KEY-----\nhunter2\n",
    "/etc/app/proxy": "http://me:hunter2@proxy/\n",
}


@pytest.mark.parametrize("output", ["text", "json"])
def test_no_secret_is_ever_printed(tmp_path: Path, output: str) -> None:
    """Neither as a change nor as the context of one."""
    longer = {path: f"{text}# more\n" for path, text in SECRETS.items()}
    before, after, gone = (
        write(tmp_path / f"{name}.yaml", config(name, files=[file(*item) for item in contents.items()]))
        for name, contents in (("a", SECRETS), ("b", longer), ("c", {}))
    )
    for old, new in ((before, after), (gone, after), (after, gone)):
        done = mco("plan", "--from", old, "--to", new, "-o", output, "--full")
        assert done.returncode == 1
        assert all(path in done.stdout for path in SECRETS)
        assert "hunter2" not in done.stdout + done.stderr


def test_long_diffs_are_cut_but_for_full(folder: Path) -> None:
    long = write(
        folder / "long.yaml", config("long", files=[file("/a", "".join(f"{n}\n" for n in range(500)))])
    )
    sides = ("--from", folder / "old.yaml", "--to", long)
    short = mco("plan", *sides).stdout
    assert "--full shows them" in short
    assert "+499" not in short
    assert "+499" in mco("plan", *sides, "--full").stdout
    assert "+499\\n" in mco("plan", *sides, "-o", "json").stdout


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("", True), ("1", False)])
def test_colour_is_for_terminals_that_want_it(folder: Path, no_color: str | None, coloured: bool) -> None:
    sides = ["--from", str(folder / "old.yaml"), "--to", str(folder / "new.yaml")]
    assert "\x1b" not in mco("plan", *sides).stdout
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    if no_color is not None:
        environment["NO_COLOR"] = no_color
    assert ("\x1b[" in on_terminal([str(PROGRAM), "plan", *sides], environment)) is coloured


def on_terminal(command: list[str], environment: dict[str, str]) -> str:
    leader, terminal = pty.openpty()
    running = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
        while data := os.read(leader, 65536):
            shown += data
    os.close(leader)
    assert running.wait() == 1
    return shown.decode()


def test_help_names_the_exit_codes() -> None:
    shown = " ".join(mco("plan", "--help").stdout.split())
    assert "Exit codes: 0 nothing to do, 1 changes, 2 a node cannot follow or the input is wrong." in shown


def test_what_was_rendered_can_be_planned(tmp_path: Path) -> None:
    """The output of `mco render` is the input."""
    source = {"apiVersion": OLD["apiVersion"], "kind": "MachineConfig"}
    metadata = {"name": "a", "labels": {"machineconfiguration.openshift.io/role": "worker"}}
    made = []
    for number, units in enumerate(([], [unit("a.service", "[Unit]\n", enabled=True)])):
        spec = {"config": {"ignition": {"version": "3.5.0"}, "systemd": {"units": units}}}
        write(tmp_path / f"{number}.yaml", source | {"metadata": metadata, "spec": spec})
        rendered = mco("render", "-f", tmp_path / f"{number}.yaml", "--pool", "worker")
        made.append(tmp_path / f"rendered-{number}.yaml")
        made[-1].write_text(rendered.stdout)
    assert plan(made[0], made[0])[0] == 0
    code, found = plan(*made)
    assert (code, [item["name"] for item in found["units"]]) == (1, ["a.service"])
