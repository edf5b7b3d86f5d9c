"""The shape of a machine that is a node: containerd from Debian's packages and the real kubelet.

A machine joins with the files that its place gives it in /lab: a kubeconfig with a bootstrap token, the
cluster's authority and the addresses of its pods. Paths are those of kubeadm, so that whoever looks for a
node's files finds them where most clusters have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mco.lab.kubernetes import pause
from mco.lab.kubernetes.programs import Programs
from mco.lab.shape import Shape

KUBECONFIG = "/etc/kubernetes/kubelet.conf"
_BOOTSTRAP_KUBECONFIG = "/etc/kubernetes/bootstrap-kubelet.conf"
_CONFIG = "/etc/kubernetes/kubelet.yaml"
_IMAGES = "/opt/images"

# One network per node, by its number. It is not routed: pods of two nodes meet through services of the host.
_PODS = "10.85.{number}.0/24"

_PACKAGES = (
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "ebtables",
    "ethtool",
    "iptables",
    "kmod",
    "mount",
    "procps",
    "runc",
    "socat",
    "util-linux",
)

# nspawn mounts the controllers' hierarchies and the settings of the kernel read-only; they are the machine's.
_WRITABLE = """\
[Unit]
Description=Control groups and kernel settings of this node
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -euc 'for folder in /sys/fs/cgroup/*; do if mountpoint -q "$folder"; then \
mount -o remount,bind,rw,nosuid,nodev,noexec "$folder"; fi; done; mount -o remount,bind,rw /proc/sys'
"""

# A name stands for a content: what was imported once is not imported again.
_IMPORT = f"""\
[Unit]
Description=Images of this node
Requires=containerd.service
After=containerd.service
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -euc 'for image in {_IMAGES}/*.tar; do \
done="/var/lib/containerd/$(basename "$image").done"; \
test -e "$done" || {{ ctr --namespace k8s.io images import "$image"; touch "$done"; }}; done'

[Install]
WantedBy=multi-user.target
"""

_KUBELET = f"""\
[Unit]
Description=Kubernetes node agent
Wants=network-online.target lab-images.service
After=network-online.target lab-images.service containerd.service
StartLimitIntervalSec=0

[Service]
EnvironmentFile=/lab/kubelet
ExecStart=/usr/local/bin/kubelet --config={_CONFIG} --kubeconfig={KUBECONFIG} \
--bootstrap-kubeconfig={_BOOTSTRAP_KUBECONFIG} --cert-dir=/var/lib/kubelet/pki \
--register-with-taints=${{TAINTS}}
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""

_CONTAINERD = f"""\
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause.NAME}"
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "/etc/cni/net.d"
"""

_KUBELET_CONFIG: Mapping[str, object] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True},
        "x509": {"clientCAFile": "/lab/ca.crt"},
    },
    "authorization": {"mode": "Webhook"},
    "cgroupDriver": "cgroupfs",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "failCgroupV1": False,
    "failSwapOn": False,
    "localStorageCapacityIsolation": False,
    # The disk and the memory are the host's: how full they are is no reason to evict anybody.
    "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
    "imageGCHighThresholdPercent": 100,
    "resolvConf": "",
    "rotateCertificates": True,
}

# What a kubelet sets, whatever was there before.
SETTINGS: Mapping[str, int] = {
    "kernel.keys.root_maxbytes": 25_000_000,
    "kernel.keys.root_maxkeys": 1_000_000,
    "kernel.panic": 10,
    "kernel.panic_on_oops": 1,
    "vm.overcommit_memory": 1,
    "vm.panic_on_oom": 0,
}


def shape(programs: Programs, images: Path) -> Shape:
    """`images` is a folder of OCI archives that each node imports, in files called after their content; one
    is the pause image."""
    system = "/usr/lib/systemd/system"
    return Shape(
        packages=_PACKAGES,
        files={
            _CONFIG: msgspec.json.encode(_KUBELET_CONFIG).decode(),
            "/etc/containerd/config.toml": _CONTAINERD,
            f"{system}/kubelet.service": _KUBELET,
            f"{system}/lab-images.service": _IMPORT,
            f"{system}/lab-writable.service": _WRITABLE,
        },
        links={
            _BOOTSTRAP_KUBECONFIG: "/lab/bootstrap-kubelet.conf",
            "/etc/cni/net.d/10-lab.conflist": "/lab/cni.conflist",
            f"{system}/sysinit.target.wants/lab-writable.service": "../lab-writable.service",
        },
        units=("containerd.service", "kubelet.service", "lab-images.service"),
        options=("--capability=all", "--bind=/dev/kmsg", "--system-call-filter=add_key keyctl bpf"),
        binds={"/usr/local/bin/kubelet": programs["kubelet"], _IMAGES: images},
        volumes=("/var/lib/containerd", "/var/lib/kubelet"),
        controllers=True,
        settings=SETTINGS,
    )


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What a node finds where it stands. `kubeconfig` has a bootstrap token, `ca` is PEM, `taints` as the
    kubelet has them on its command line."""

    number: int
    kubeconfig: bytes
    ca: bytes
    taints: str = ""

    def files(self) -> dict[str, bytes]:
        """By name in /lab."""
        return {
            "bootstrap-kubelet.conf": self.kubeconfig,
            "ca.crt": self.ca,
            "cni.conflist": _network(self.number),
            "kubelet": f"TAINTS={self.taints}\n".encode(),
        }


def _network(number: int) -> bytes:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": _PODS.format(number=number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return msgspec.json.encode({"cniVersion": "0.4.0", "name": "lab", "plugins": [bridge, ports]})
