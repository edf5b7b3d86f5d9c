"""MachineConfig, MachineConfigPool, ControllerConfig, KubeletConfig and ContainerRuntimeConfig."""

from __future__ import annotations

from mco.api.descriptions.shared import SHARED, reference

MACHINE_CONFIG = {
    **SHARED,
    "": "A part of the configuration of machines. Pools select such parts and merge them.",
    "spec": "What the machines get.",
    "spec.baseOSExtensionsContainerImage": "Image with the packages of the extensions.",
    "spec.config": "An Ignition config: files, systemd units and users.",
    "spec.extensions": "Names of optional features of the operating system to install, as usbguard.",
    "spec.fips": "Whether the machines run in FIPS mode; it cannot be changed later.",
    "spec.kernelArguments": "Arguments to add to the kernel's command line.",
    "spec.kernelType": "Kernel to run: default, realtime or 64k-pages.",
    "spec.osImageURL": "Image of the operating system.",
}

_CONFIGURATION = {
    **reference("*.configuration"),
    **reference("*.configuration.source"),
    "*.configuration.source": "The MachineConfigs that were merged into it, in that order.",
}

MACHINE_CONFIG_POOL = {
    **SHARED,
    **_CONFIGURATION,
    "": "The machines that share a configuration, and the MachineConfigs that it is merged from.",
    "spec": "Which machines and MachineConfigs belong to the pool, and how it is updated.",
    "spec.configuration": "The rendered MachineConfig that the machines are brought to.",
    "spec.machineConfigSelector": "Selects MachineConfigs and PinnedImageSets by their labels.",
    "spec.maxUnavailable": (
        "How many machines may be unavailable at a time during an update, as a number or as a percentage of "
        "the pool that is rounded down. At least 1, which is the default; use paused to stop an update."
    ),
    "spec.nodeSelector": "Selects nodes by their labels.",
    "spec.osImageStream": "Stream of the operating system, instead of the cluster's default one.",
    "spec.paused": "Whether machines are left alone; configurations are still rendered.",
    "spec.pinnedImageSets": "PinnedImageSets whose images are kept on the machines.",
    "spec.pinnedImageSets.name": "Name of the PinnedImageSet.",
    "*.osImageStream.name": "Name of a stream of the cluster's OSImageStream.",
    "status.certExpirys": "When certificates of the machines expire.",
    "status.certExpirys.bundle": "Name of the bundle with the certificate.",
    "status.certExpirys.expiry": "When the certificate expires.",
    "status.certExpirys.subject": "Subject of the certificate.",
    "status.configuration": "The rendered MachineConfig that all machines reached last.",
    "status.degradedMachineCount": "Number of machines that could not apply a configuration.",
    "status.machineCount": "Number of machines in the pool.",
    "status.osImageStream": "The stream that the pool used last.",
    "status.poolSynchronizersStatus": "How far other things that are brought to all machines are.",
    "status.poolSynchronizersStatus.availableMachineCount": "Number of machines where it is available.",
    "status.poolSynchronizersStatus.machineCount": "Number of machines that it is brought to.",
    "status.poolSynchronizersStatus.observedGeneration": "Generation that was brought last.",
    "status.poolSynchronizersStatus.poolSynchronizerType": "What is brought: PinnedImageSets.",
    "status.poolSynchronizersStatus.readyMachineCount": "Number of machines where it is ready.",
    "status.poolSynchronizersStatus.unavailableMachineCount": "Number of machines where it is not available.",
    "status.poolSynchronizersStatus.updatedMachineCount": "Number of machines that have the newest state.",
    "status.readyMachineCount": "Number of machines that have the configuration and are ready.",
    "status.unavailableMachineCount": "Number of machines that are not ready, or not schedulable.",
    "status.updatedMachineCount": "Number of machines that have the configuration.",
}

CONTROLLER_CONFIG = {
    **SHARED,
    **reference("spec.pullSecret"),
    "": "What the controllers know of the cluster. The operator writes it; there is one.",
    "spec": "Facts of the cluster that configurations are made from.",
    "spec.additionalTrustBundle": "Certificate authorities that machines trust beside the usual ones.",
    "spec.baseOSContainerImage": "Image of the operating system.",
    "spec.baseOSExtensionsContainerImage": "Image with the packages of the extensions.",
    "spec.bgpVIPPeersJSON": "BGP peers of the virtual addresses, as JSON.",
    "spec.cloudProviderCAData": "Certificate authorities of the cloud's API.",
    "spec.cloudProviderConfig": "Configuration of the cloud provider.",
    "spec.clusterDNSIP": "Address of the cluster's DNS service.",
    "spec.dns": "The cluster's DNS configuration.",
    "spec.etcdDiscoveryDomain": "Obsolete: it stands in the infrastructure.",
    "spec.imageRegistryBundleData": "Certificate authorities of image registries that the cluster adds.",
    "spec.imageRegistryBundleUserData": "Certificate authorities of image registries that a user adds.",
    "*.data": "The certificates.",
    "*.file": "Name of the registry, which is that of its file.",
    "spec.images": "Images of the components, by name.",
    "spec.infra": "The cluster's infrastructure: its platform and the addresses of its API.",
    "spec.internalRegistryPullSecret": "Credentials of the cluster's own registry.",
    "spec.ipFamilies": "IP families of the cluster: IPv4, IPv6, DualStack or DualStackIPv6Primary.",
    "spec.kubeAPIServerServingCAData": "Certificate authority of the API server, for kubelets.",
    "spec.network": "More facts of the network.",
    "spec.network.mtuMigration": "A change of the MTU that is under way.",
    "spec.network.mtuMigration.machine": "MTU of the machines' interfaces.",
    "spec.network.mtuMigration.network": "MTU of the pod network.",
    "*.from": "Before the change.",
    "*.to": "After the change.",
    "spec.networkType": "Type of the pod network.",
    "spec.osImageURL": "Image of the operating system in the old format.",
    "spec.platform": "Obsolete: it stands in the infrastructure.",
    "spec.proxy": "The cluster's proxy.",
    "spec.proxy.httpProxy": "Proxy for HTTP.",
    "spec.proxy.httpsProxy": "Proxy for HTTPS.",
    "spec.proxy.noProxy": "Hosts and networks that are reached without a proxy, separated by commas.",
    "spec.pullSecret": "The secret with the credentials that images are pulled with.",
    "spec.releaseImage": "Image of the cluster's release.",
    "spec.rootCAData": "Certificate authority of the cluster.",
    "status.controllerCertificates": "Certificates that are brought to the machines.",
    "status.controllerCertificates.bundleFile": "Name of the bundle's file.",
    "status.controllerCertificates.notAfter": "When it expires.",
    "status.controllerCertificates.notBefore": "When it begins to be valid.",
    "status.controllerCertificates.signer": "Who signed it.",
    "status.controllerCertificates.subject": "Whom it is for.",
}

_POOLS = {"spec.machineConfigPoolSelector": "Selects pools by their labels; without it, none."}

KUBELET_CONFIG = {
    **SHARED,
    **_POOLS,
    "": "Settings of the kubelets of some pools.",
    "spec": "The settings, and the pools that get them.",
    "spec.autoSizingReserved": "Whether resources are kept for the system by the machine's size.",
    "spec.kubeletConfig": "Fields of the kubelet's own configuration file.",
    "spec.logLevel": "How much the kubelet logs, from 0 to 10.",
    "spec.systemGomaxprocsBehavior": "Autosize (GOMAXPROCS of the services by reserved CPU) or Disabled.",
    "spec.tlsSecurityProfile": "TLS settings of the kubelet; those of the API server when there are none.",
    "spec.tlsSecurityProfile.custom": "Settings of your own, for the type Custom.",
    "spec.tlsSecurityProfile.custom.ciphers": "Cipher suites by their OpenSSL names.",
    "spec.tlsSecurityProfile.custom.groups": "Groups for the key exchange.",
    "spec.tlsSecurityProfile.custom.minTLSVersion": "Lowest version of TLS, as VersionTLS12.",
    "spec.tlsSecurityProfile.intermediate": "Nothing to set, for the type Intermediate.",
    "spec.tlsSecurityProfile.modern": "Nothing to set, for the type Modern.",
    "spec.tlsSecurityProfile.old": "Nothing to set, for the type Old.",
    "spec.tlsSecurityProfile.type": "Old, Intermediate, Modern or Custom.",
}

_STORE = "An absolute path on the machine."

CONTAINER_RUNTIME_CONFIG = {
    **SHARED,
    **_POOLS,
    "": "Settings of the container runtime of some pools.",
    "spec": "The settings, and the pools that get them.",
    "spec.containerRuntimeConfig": "The settings.",
    "*.additionalArtifactStores": "Folders with OCI artifacts that are looked at before they are pulled.",
    "*.additionalArtifactStores.path": _STORE,
    "*.additionalImageStores": "Folders with images that are looked at before they are pulled.",
    "*.additionalImageStores.path": _STORE,
    "*.additionalLayerStores": "Folders with layers of images that are looked at before they are pulled.",
    "*.additionalLayerStores.path": _STORE,
    "*.containerGomaxprocsBehavior": "Autosize (GOMAXPROCS of containers by their CPU request) or Disabled.",
    "*.defaultRuntime": "OCI runtime: crun, which is the default, or runc.",
    "*.logLevel": "How much CRI-O logs: fatal, panic, error, warn, info or debug.",
    "*.logSizeMax": "Greatest size of a container's log, at least 8192 bytes; negative for no limit.",
    "*.overlaySize": "Greatest size of a container's writable layer.",
    "*.pidsLimit": "Greatest number of processes in a container.",
}
