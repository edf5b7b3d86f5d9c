"""MachineConfiguration of operator.openshift.io."""

from __future__ import annotations

from mco.api.descriptions.shared import SHARED

_LOG_LEVEL = "Normal, Debug, Trace or TraceAll."
_SERVICE = "Name of the systemd unit with its type, as crio.service."

_POLICIES = {
    "*.actions": "What is done, in that order. Reboot and None stand alone.",
    "*.actions.reload": "The unit to reload, for the type Reload.",
    "*.actions.reload.serviceName": _SERVICE,
    "*.actions.restart": "The unit to restart, for the type Restart.",
    "*.actions.restart.serviceName": _SERVICE,
    "*.actions.type": "Reboot, Drain, Reload, Restart, DaemonReload or None; in a status also Special.",
    "*.files": "What is done when files change.",
    "*.files.path": "Path of a file, or of a folder for all files below it.",
    "*.sshkey": "What is done when SSH keys change.",
    "*.units": "What is done when systemd units change.",
    "*.units.name": _SERVICE,
}

_BOOT_IMAGES = {
    "*.machineManagers": "Kinds of objects whose boot images are updated.",
    "*.machineManagers.apiGroup": "API group of the objects: machine.openshift.io.",
    "*.machineManagers.resource": "Resource of the objects: machinesets or controlplanemachinesets.",
    "*.machineManagers.selection": "Which of the objects.",
    "*.selection.mode": "All, Partial or None; for control planes All or None.",
    "*.selection.partial": "Which of the objects, for the mode Partial.",
    "*.selection.partial.machineResourceSelector": "Selects the objects by their labels.",
}

_SKEW = {
    "*.automatic": "Boot images that the operator keeps up to date, for the mode Automatic.",
    "*.manual": "The oldest boot image in use, for the mode Manual.",
    "*.manual.mode": "Which version is given: OCPVersion or RHCOSVersion.",
    "*.ocpVersion": "Version of the release with the boot image, as 4.18.2.",
    "*.rhcosVersion": "Version of the boot image, as 9.6.20250701-0.",
}

MACHINE_CONFIGURATION = {
    **SHARED,
    **_POLICIES,
    **_BOOT_IMAGES,
    **_SKEW,
    "": "Settings of the Machine Config Operator itself. There is one object, cluster.",
    "spec": "The settings.",
    "spec.bootImageSkewEnforcement": "What happens when boot images are too old for a release.",
    "spec.bootImageSkewEnforcement.mode": "Manual: you say how old they are. None: it is not looked at.",
    "spec.failedRevisionLimit": "Not used.",
    "spec.forceRedeploymentReason": "Not used.",
    "spec.irreconcilableValidationOverrides": "Changes to allow although running machines cannot apply them.",
    "spec.irreconcilableValidationOverrides.storage": "Sections of storage: Disks, FileSystems, Raid.",
    "spec.logLevel": f"How much the components log: {_LOG_LEVEL}",
    "spec.managedBootImages": "Which boot images are updated together with the cluster.",
    "spec.managementState": "How the operator manages its components: Managed, Unmanaged, Force, Removed.",
    "spec.nodeDisruptionPolicy": "What changes of a configuration do to a node, instead of a reboot.",
    "spec.observedConfig": "Not used.",
    "spec.operatorLogLevel": f"How much the operator logs: {_LOG_LEVEL}",
    "spec.succeededRevisionLimit": "Not used.",
    "spec.unsupportedConfigOverrides": "Settings that are not supported.",
    "status.bootImageSkewEnforcementStatus": "What is enforced, and the boot images that are known.",
    "status.bootImageSkewEnforcementStatus.mode": "Automatic, Manual or None.",
    "status.managedBootImagesStatus": "Which boot images are updated.",
    "status.nodeDisruptionPolicyStatus": "The policies in force.",
    "status.nodeDisruptionPolicyStatus.clusterPolicies": "The built-in policies with yours laid over them.",
}
