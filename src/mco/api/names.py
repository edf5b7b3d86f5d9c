"""Every name that this project puts on objects or expects there (spec/node.md 2, spec/render.md 0)."""

from __future__ import annotations

GROUP = "machineconfiguration.openshift.io"
VERSION = "v1"
API_VERSION = f"{GROUP}/{VERSION}"
OPERATOR_GROUP = "operator.openshift.io"
NAMESPACE = "openshift-machine-config-operator"
OPENSHIFT_CONFIG = "openshift-config"  # where people set up an OpenShift
OPENSHIFT_CONFIG_MANAGED = "openshift-config-managed"  # where its operators tell each other
NODE_LEASE_NAMESPACE = "kube-node-lease"

# Labels
ROLE_LABEL = f"{GROUP}/role"
BUILT_IN_LABEL = f"{GROUP}/mco-built-in"
REQUIRED_FOR_UPGRADE_LABEL = f"operator.{GROUP}/required-for-upgrade"
POOL_LABEL_PREFIX = f"pools.operator.{GROUP}/"
NODE_ROLE_PREFIX = "node-role.kubernetes.io/"
ZONE_LABEL = "topology.kubernetes.io/zone"
OS_LABEL = "kubernetes.io/os"
HOSTNAME_LABEL = "kubernetes.io/hostname"
JOIN_POOL_LABEL = f"{GROUP}/pool"  # of a bootstrap token: the one pool whose config it may fetch

# Annotations of Nodes
CURRENT_CONFIG = f"{GROUP}/currentConfig"
DESIRED_CONFIG = f"{GROUP}/desiredConfig"
CURRENT_IMAGE = f"{GROUP}/currentImage"
DESIRED_IMAGE = f"{GROUP}/desiredImage"
STATE = f"{GROUP}/state"
REASON = f"{GROUP}/reason"
POST_CONFIG_ACTION = f"{GROUP}/post-config-action"
DESIRED_DRAIN = f"{GROUP}/desiredDrain"
LAST_APPLIED_DRAIN = f"{GROUP}/lastAppliedDrain"
CONTROL_PLANE_TOPOLOGY = f"{GROUP}/controlPlaneTopology"
FIRST_PIVOT_CONFIG = f"{GROUP}/firstPivotConfig"
CUSTOM_POOL_LABELS_APPLIED = f"{GROUP}/customPoolLabelsApplied"
MACHINE_ID = f"{GROUP}/machine-id"
COPY_WANTED = f"{GROUP}/wanted-copy"  # which rendered config the node is asked to hand over
COPY_GIVEN = f"{GROUP}/given-copy"  # in how many Secrets it has done so

# Annotations of other objects
GENERATED_BY_CONTROLLER_VERSION = f"{GROUP}/generated-by-controller-version"
GENERATED_BY_VERSION = f"{GROUP}/generated-by-version"
RELEASE_IMAGE_VERSION = f"{GROUP}/release-image-version"
SERVICE_CA_ROTATE = f"{GROUP}/service-ca-rotate"
OS_IMAGE_OVERRIDDEN = f"{GROUP}/os-image-url-overridden"
PRE_BUILT_IMAGE = f"{GROUP}/pre-built-image"
BOOT_IMAGES_OPTED_IN_AT = f"{GROUP}/boot-image-updates-opted-in-at"
LEASE_HOLDER = f"{GROUP}/lease-holder"  # of a Lease: which process holds it
KEEP = f"{GROUP}/keep"  # of a rendered MachineConfig, with any value: it is never collected
ALLOW_DELETION = f"{GROUP}/allow-deletion"  # of a rendered MachineConfig, with any value: though it is in use
COPY_LABEL = f"{GROUP}/config-copy"  # of a Secret: the request that it answers
JOIN_MACHINE = f"{GROUP}/machine"  # of a bootstrap token: the one machine that it was made for

# Values of the state annotation
STATE_DONE = "Done"
STATE_WORKING = "Working"
STATE_DEGRADED = "Degraded"
STATE_UNRECONCILABLE = "Unreconcilable"
REBOOTING = "Rebooting"

# Objects and pools
RENDERED_PREFIX = "rendered-"
CONTROLLER_CONFIG = "machine-config-controller"
OPERATOR_LEASE, CONTROLLER_LEASE = "machine-config", "machine-config-controller"
MACHINE_CONFIGURATION = "cluster"
SCHEDULER = "cluster"
IN_USE_MAP = "rendered-configs-in-use"  # ConfigMap: rendered configs that must stay, and who needs them
SERVED_MAP = "rendered-configs-served"  # ConfigMap: when each rendered config was served last
MASTER, WORKER, ARBITER = "master", "worker", "arbiter"
BUILT_IN_POOLS = (MASTER, WORKER, ARBITER)
NOT_YET_SET = "not-yet-set"
UPDATE_TAINT = "UpdateInProgress"

# Limits and versions
MAX_RENDERED_BYTES = 1572864
MAX_REASON_CHARACTERS = 2000
KERNEL_TYPES = ("default", "realtime", "64k-pages")

# Files on a node (spec/daemon.md 2)
FORCE_FILE = "/run/machine-config-daemon-force"
NODE_ANNOTATIONS_FILE = "/etc/machine-config-daemon/node-annotations.json"
CURRENT_CONFIG_FILE = "/etc/machine-config-daemon/currentconfig"
ENCAPSULATED_FILE = "/etc/ignition-machine-config-encapsulated.json"
SERVED_CONFIG_FILE = "/etc/mcs-machine-config-content.json"
KUBECONFIG_FILE = "/etc/kubernetes/kubeconfig"
NODE_KUBECONFIG_FILE = "/var/lib/kubelet/kubeconfig"
KUBELET_CA_FILE = "/etc/kubernetes/kubelet-ca.crt"
CLOUD_CA_FILE = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem"
STATE_FOLDER = "/var/lib/machine-config-daemon"
