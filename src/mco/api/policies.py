"""The ValidatingAdmissionPolicies of the product (spec/node.md 1.14, spec/render.md 1.9).

They hold what no schema can say: what depends on who asks, on another object, or on what is deleted.
"""

from __future__ import annotations

from mco.api import configcopies, names
from mco.api.admission import DELETES, WRITES, Check, Parameter, Policy

_CONFIG_API = "config.openshift.io/v1"
_ACCOUNT = f"system:serviceaccount:{names.NAMESPACE}:"
_NODE_CLAIM = "authentication.kubernetes.io/node-name"
_PROTECTED = (
    "default-deny",
    "allow-all-egress",
    "allow-machine-config-operator",
    "allow-machine-config-controller",
    "allow-machine-os-builder",
)


_SELECTOR = "object.spec.machineConfigSelector"
_ROLE = f'"{names.ROLE_LABEL}"'
_INHERITS = (
    f"(has({_SELECTOR}.matchLabels) && {_ROLE} in {_SELECTOR}.matchLabels && "
    f"{_SELECTOR}.matchLabels[{_ROLE}] in ['master', 'worker', 'arbiter']) || "
    f"(has({_SELECTOR}.matchExpressions) && {_SELECTOR}.matchExpressions.exists(e, e.key == {_ROLE} && "
    "((e.operator == 'In' && 'worker' in e.values) || (e.operator == 'NotIn' && !('worker' in e.values)))))"
)
_BOOT_IMAGES = "object.spec.managedBootImages"
_PLATFORM = "params.status.platformStatus.type"
_INFRASTRUCTURE = Parameter(_CONFIG_API, "Infrastructure", "cluster")
_CLAIMS = "request.userInfo.extra"
_DAEMONS = (
    "check-only-machine-config-daemon-requests",
    f"request.userInfo.username == '{_ACCOUNT}machine-config-daemon'",
)
_CLAIMED = Check(
    f"has({_CLAIMS}) && '{_NODE_CLAIM}' in {_CLAIMS}",
    f'this user must have a "{_NODE_CLAIM}" claim',
)
_OWN = f"object.metadata.name == {_CLAIMS}['{_NODE_CLAIM}'][0]"
_NODE_USER = "system:node:"
_IS_NODE = f"request.userInfo.username.startsWith('{_NODE_USER}')"
_ITSELF = (
    f"({_IS_NODE} ? request.userInfo.username.substring({len(_NODE_USER)}) : {_CLAIMS}['{_NODE_CLAIM}'][0])"
)
_COPY_NAME = rf"^{configcopies.SECRET_PREFIX}{configcopies.NONCE}-[0-{configcopies.MAX_PARTS - 1}][.].+$"
_COPY_NONCE = (
    f"object.metadata.name.substring({len(configcopies.SECRET_PREFIX)}, {configcopies.NODE_START - 3})"
)
_IN_USE = Parameter("v1", "ConfigMap", names.IN_USE_MAP, names.NAMESPACE, required=False)
_ANNOTATIONS = "oldObject.metadata.annotations"

POLICIES = (
    Policy(
        name="custom-machine-config-pool-selector",
        group=names.GROUP,
        resources=("machineconfigpools",),
        checks=(
            Check(
                _INHERITS,
                "All custom MachineConfigPools must inherit from the worker pool and must have a "
                f"machineConfigSelector that matches for a '{names.ROLE_LABEL}: worker' label",
            ),
        ),
    ),
    Policy(
        name="machineconfigpool-osimagestream-reference-validation",
        file="machineconfigpool-osimagestream-reference",
        group=names.GROUP,
        resources=("machineconfigpools",),
        parameter=Parameter(names.API_VERSION, "OSImageStream", "cluster"),
        checks=(
            Check(
                "!has(object.spec.osImageStream) || "
                "params.status.availableStreams.exists(s, s.name == object.spec.osImageStream.name)",
                "The specified osImageStream name must reference a valid stream from the cluster "
                "OSImageStream resource",
            ),
        ),
    ),
    Policy(
        name="osimagestream-prevent-deletion",
        file="osimagestream-deletion-guard",
        group=names.GROUP,
        resources=("osimagestreams",),
        operations=DELETES,
        checks=(Check("false", "Deletion of OSImageStream resources is not allowed"),),
    ),
    Policy(
        name="machine-configuration-guards",
        file="machineconfiguration-guards",
        group=names.OPERATOR_GROUP,
        resources=("machineconfigurations",),
        checks=(
            Check(
                f"object.metadata.name == '{names.MACHINE_CONFIGURATION}'",
                "Only a single object of MachineConfiguration is allowed and it must be named cluster.",
            ),
        ),
    ),
    Policy(
        name="managed-bootimages-platform-check",
        file="update-bootimages",
        group=names.OPERATOR_GROUP,
        resources=("machineconfigurations",),
        parameter=_INFRASTRUCTURE,
        checks=(
            Check(
                f"!has({_BOOT_IMAGES}) || {_PLATFORM} in ['GCP', 'AWS', 'VSphere', 'Azure']",
                "This feature is only supported on these platforms: GCP, AWS, VSphere, Azure",
            ),
        ),
    ),
    Policy(
        name="managed-bootimages-cpms-platform-check",
        file="update-bootimages-cpms",
        group=names.OPERATOR_GROUP,
        resources=("machineconfigurations",),
        parameter=_INFRASTRUCTURE,
        checks=(
            Check(
                f"!has({_BOOT_IMAGES}) || !has({_BOOT_IMAGES}.machineManagers) || "
                f"!{_BOOT_IMAGES}.machineManagers.exists(m, m.resource == 'controlplanemachinesets') || "
                f"{_PLATFORM} in ['GCP', 'AWS', 'Azure']",
                "The control plane machineset boot image update feature is only supported on these "
                "platforms: GCP, AWS, Azure",
            ),
        ),
    ),
    Policy(
        name="mcn-guards",
        group=names.GROUP,
        resources=("machineconfignodes", "machineconfignodes/status"),
        only=(_DAEMONS,),
        checks=(
            _CLAIMED,
            Check(
                _OWN,
                text_of="'updates to MCN ' + object.metadata.name + "
                '" can only be done from the MCN\'s owner node"',
            ),
        ),
    ),
    # Not the original's, whose daemon writes to its Node as the kubelet.
    Policy(
        name="node-guards",
        group="",
        resources=("nodes",),
        operations=("UPDATE",),
        only=(_DAEMONS,),
        checks=(
            _CLAIMED,
            Check(
                _OWN,
                text_of="'a machine config daemon may only change its own node, not ' + object.metadata.name",
            ),
        ),
    ),
    Policy(
        name="internalreleaseimage-deletion-guard",
        group=names.GROUP,
        resources=("internalreleaseimages",),
        versions=(names.VERSION, "v1alpha1"),
        operations=DELETES,
        parameter=Parameter(_CONFIG_API, "ClusterVersion", "version"),
        checks=(
            Check(
                "!has(oldObject.status) || !has(oldObject.status.releases) || "
                "!oldObject.status.releases.exists(r, has(r.image) && "
                "r.image.split('@')[1] in params.status.desired.image.split('@'))",
                "Cannot delete InternalReleaseImage while the cluster is using a release bundle from this "
                "resource. The current cluster release image matches a release stored in this "
                "InternalReleaseImage. Please upgrade or downgrade to a different release before deletion.",
            ),
        ),
    ),
    Policy(
        # Ours, not the original's: a node that is asked for its copy of a lost config answers with Secrets.
        # It may make them and nothing else, under names that are no other node's, and they go with its Node.
        name="config-copy-guards",
        group="",
        resources=("secrets",),
        operations=(*WRITES, *DELETES),
        namespaced=True,
        only=(("check-only-nodes", f"{_IS_NODE} || {_DAEMONS[1]}"),),
        checks=(
            Check("request.operation == 'CREATE'", "a node may not change Secrets"),
            Check(f"{_IS_NODE} || ({_CLAIMED.expression})", _CLAIMED.text),
            Check(
                f"object.metadata.name.matches('{_COPY_NAME}') && "
                f"object.metadata.name.substring({configcopies.NODE_START}) == {_ITSELF}",
                text_of="'a node may only make Secrets for its own copies, not ' + object.metadata.name",
            ),
            Check(
                f"has(object.type) && object.type == '{configcopies.SECRET_TYPE}' && "
                "has(object.immutable) && object.immutable",
                f"a copy is an immutable Secret of type {configcopies.SECRET_TYPE}",
            ),
            Check(
                f"has(object.metadata.labels) && object.metadata.labels == {{'{names.COPY_LABEL}': "
                f"{_COPY_NONCE}}} && !has(object.metadata.annotations) && !has(object.metadata.finalizers)",
                f"a copy has the label {names.COPY_LABEL} with its request, and no other, no annotations and "
                "no finalizers",
            ),
            Check(
                "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.size() == 1 && "
                "object.metadata.ownerReferences.all(o, o.apiVersion == 'v1' && o.kind == 'Node' && "
                f"o.name == {_ITSELF} && !has(o.controller) && !has(o.blockOwnerDeletion))",
                "a copy is owned by the Node that it comes from",
            ),
            Check(
                f"has(object.data) && object.data.size() == 1 && '{configcopies.KEY}' in object.data && "
                f"object.data['{configcopies.KEY}'].size() <= {configcopies.PART_BYTES // 3 * 4}",
                f"a copy holds one {configcopies.KEY} of at most {configcopies.PART_BYTES} bytes",
            ),
        ),
    ),
    Policy(
        # Ours, not the original's. The marks stand in an object of their own, which is small: a mark on the
        # config would be a write of the whole config, and part of what machines are served.
        name="rendered-config-deletion-guard",
        group=names.GROUP,
        resources=("machineconfigs",),
        operations=DELETES,
        parameter=_IN_USE,
        checks=(
            Check(
                "!has(params.data) || !(oldObject.metadata.name in params.data) || "
                f"(has({_ANNOTATIONS}) && '{names.ALLOW_DELETION}' in {_ANNOTATIONS})",
                text_of="'MachineConfig ' + oldObject.metadata.name + ' is in use by ' + "
                "params.data[oldObject.metadata.name] + '; to delete it all the same, annotate it with "
                f"{names.ALLOW_DELETION}'",
            ),
        ),
    ),
    Policy(
        name="networkpolicy-prevent-deletion",
        file="networkpolicy-deletion-guard",
        group="networking.k8s.io",
        resources=("networkpolicies",),
        operations=DELETES,
        namespaced=True,
        checks=(
            Check(
                f"!(oldObject.metadata.name in {list(_PROTECTED)})",
                f"Deletion of MCO-managed NetworkPolicy resources in the {names.NAMESPACE} namespace is not "
                "allowed",
            ),
        ),
    ),
    Policy(
        name="networkpolicy-prevent-update",
        file="networkpolicy-update-guard",
        group="networking.k8s.io",
        resources=("networkpolicies",),
        operations=("UPDATE",),
        namespaced=True,
        only=(
            (
                "exclude-mco-service-account",
                f"request.userInfo.username != '{_ACCOUNT}machine-config-operator'",
            ),
        ),
        checks=(
            Check(
                f"!(object.metadata.name in {list(_PROTECTED)})",
                f"Modification of MCO-managed NetworkPolicy resources in the {names.NAMESPACE} namespace is "
                "not allowed",
            ),
        ),
    ),
)

EMBEDDED = tuple(
    policy for policy in POLICIES if policy.name in ("rendered-config-deletion-guard", "config-copy-guards")
)
"""Those of which an instance without a cluster has need."""
