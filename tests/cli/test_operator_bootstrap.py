"""`mco operator bootstrap`: from an installer's files to a folder that the first machine starts from."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mco.cli.configserver import bootstrap as serve
from mco.configserver.bootstrap import BootstrapConfigs
from mco.fleet.seed import base_config
from mco.ignition import dataurl
from mco.plan.installation.images import IMAGES
from tests import installer
from tests.cli.test_render import mco, write

IMAGE = "--machine-config-operator-image=example/mco:1"
BELOW = Path("bootstrap/manifests")
POD = Path("bootstrap/machineconfigoperator-bootstrap-pod.yaml")


def options(folder: Path, **changes: Any) -> list[str]:
    contents = installer.files() | {key.replace("_", "-"): value for key, value in changes.items()}
    return [f"--{option}={path}" for option, path in installer.write(folder, contents).items()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    arbiters = installer.INFRASTRUCTURE["status"] | {"controlPlaneTopology": "HighlyAvailableArbiter"}
    given = options(folder / "in", infra_config_file=installer.INFRASTRUCTURE | {"status": arbiters})
    done = mco("operator", "bootstrap", f"--dest-dir={folder / 'out'}", IMAGE, *given)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "out"


def test_the_files_are_the_originals(made: Path) -> None:
    files = {str(path.relative_to(made)): path for path in made.rglob("*") if path.is_file()}
    secret = str(BELOW / "machineconfigcontroller-pull-secret")
    assert set(files) == {
        str(BELOW / "machineconfigcontroller-controllerconfig.yaml"),
        *(str(BELOW / f"{pool}.machineconfigpool.yaml") for pool in ("master", "worker", "arbiter")),
        secret,
        str(POD),
        "manifests/csr-bootstrap-role-binding.yaml",
        "manifests/kube-apiserver-serving-ca-configmap.yaml",
    }
    assert {path.stat().st_mode & 0o777 for path in made.rglob("*") if path.is_dir()} == {0o755}
    modes = {name: path.stat().st_mode & 0o777 for name, path in files.items()}
    assert modes == {name: 0o600 if name == secret else 0o644 for name in files}
    assert yaml.safe_load(files[secret].read_text()) == installer.PULL_SECRET
    authorities = yaml.safe_load(files["manifests/kube-apiserver-serving-ca-configmap.yaml"].read_text())
    assert authorities["metadata"]["name"] == "initial-kube-apiserver-server-ca"
    assert authorities["data"] == {"ca-bundle.crt": installer.pem("kube")}


def test_the_first_configs_are_made_of_it(made: Path, tmp_path: Path) -> None:
    """By the command of the Pod, once somebody has added MachineConfigs; and the first machine gets one."""
    folder = tmp_path / "in"
    write(folder, **{f"0{role}": base_config(role) for role in ("master", "worker", "arbiter")})
    for path in (made / BELOW).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    pod = yaml.safe_load((made / POD).read_text())
    (init,) = pod["spec"]["initContainers"]
    places = {"/etc/mcc/bootstrap": str(folder), "/etc/mcs/bootstrap": str(tmp_path / "out")}
    argv = [_replaced(argument, places) for argument in init["args"]]
    done = mco(*argv)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rpartition("-")[0] for line in done.stdout.split()] == [
        "rendered-arbiter",
        "rendered-master",
        "rendered-worker",
    ]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{}")
    served = BootstrapConfigs(tmp_path / "out", kubeconfig)
    config = json.loads(b"".join(asyncio.run(served.prepare("master", "3.5.0")).body("")))
    contents = {file["path"]: file["contents"]["source"] for file in config["storage"]["files"]}
    authorities = dataurl.decode(contents["/etc/kubernetes/kubelet-ca.crt"])
    assert authorities.decode() == installer.pem("kube")


def _replaced(argument: str, places: dict[str, str]) -> str:
    for place, folder in places.items():
        argument = argument.replace(place, folder)
    return argument


def test_the_pod_finds_on_its_machine_what_its_commands_read(made: Path) -> None:
    """Every path that an option names, by default too, is mounted."""
    pod = yaml.safe_load((made / POD).read_text())
    (init,), (main,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
    hosts = {volume["name"]: volume["hostPath"]["path"] for volume in pod["spec"]["volumes"]}
    assert set(hosts.values()) == {
        "/etc/ssl/mcs",
        "/etc/mcs/kubeconfig",
        "/etc/mcs/bootstrap",
        "/etc/mcc/bootstrap",
    }
    assert {container["image"] for container in (init, main)} == {"example/mco:1"}
    assert (init["args"][:1], main["args"][:2]) == (["bootstrap"], ["configserver", "bootstrap"])
    mounts = [mount["mountPath"] for mount in main["volumeMounts"]]
    given = serve.make_context("bootstrap", list(main["args"][2:])).params
    for name in ("server_basedir", "bootstrap_kubeconfig", "cert", "key"):
        assert any(str(given[name]).startswith(mount) for mount in mounts), name


def test_images_of_a_release_take_the_place_of_the_options(tmp_path: Path) -> None:
    tags = [
        {"name": image.tag, "from": {"kind": "DockerImage", "name": f"example/{image.tag}"}}
        for image in IMAGES
    ]
    tags.append({"name": "rhel-coreos", "from": {"kind": "DockerImage", "name": "example/os"}})
    references = tmp_path / "image-references"
    references.write_text(json.dumps({"kind": "ImageStream", "spec": {"tags": tags}}))
    out, given = tmp_path / "out", options(tmp_path / "in")
    argv = ["--release-image=example/release", f"--image-references={references}", IMAGE, *given]
    done = mco("operator", "bootstrap", f"--dest-dir={out}", *argv)
    assert done.returncode == 0
    assert done.stderr == (
        "Warning: Base OS extensions container not found: could not find rhel-coreos-extensions in images\n"
    )
    config = yaml.safe_load((out / BELOW / "machineconfigcontroller-controllerconfig.yaml").read_text())
    assert config["spec"]["images"]["machineConfigOperator"] == "example/machine-config-operator"
    assert config["spec"]["images"]["infraImageKey"] == "example/pod"
    assert config["spec"]["baseOSContainerImage"] == "example/os"
    assert config["spec"]["releaseImage"] == "example/release"


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["operator", "bootstrap", IMAGE], 2, "Missing option '--dest-dir'"),
        (["operator", "bootstrap", "--dest-dir=OUT"], 2, "--machine-config-operator-image or --image-ref"),
        (
            ["operator", "bootstrap", "--dest-dir=OUT", IMAGE],
            1,
            "/assets/manifests/cluster-proxy-01-config.yaml",
        ),
        (
            ["operator", "--log-level=debug", "bootstrap", "--dest-dir=OUT", IMAGE],
            2,
            "--log-level is not an option of this command",
        ),
    ],
)
def test_wrong_usage_writes_nothing(tmp_path: Path, argv: list[str], code: int, said: str) -> None:
    out = tmp_path / "out"
    done = mco(*(argument.replace("OUT", str(out)) for argument in argv))
    assert done.returncode == code
    assert said in done.stderr
    assert not out.exists()
