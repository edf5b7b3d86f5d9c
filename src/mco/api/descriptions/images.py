"""MachineOSConfig, MachineOSBuild, PinnedImageSet, OSImageStream and InternalReleaseImage."""

from __future__ import annotations

from mco.api.descriptions.shared import SHARED, resource

_PUSH_SPEC = (
    "Where the image is pushed: host[:port]/namespaces/name:tag, or a service of the cluster with port, "
    "repository, name and tag."
)

MACHINE_OS_CONFIG = {
    **SHARED,
    **resource("status.machineOSBuild"),
    "": "How an image of the operating system is built for a pool. It has the pool's name.",
    "spec": "What is built, from what, and where it goes.",
    "spec.baseImagePullSecret": "Secret to pull the base image with; else the cluster's pull secret.",
    "spec.baseImagePullSecret.name": "Name of a secret in the operator's namespace.",
    "spec.containerFile": "What is added to the base image, for each architecture.",
    "spec.containerFile.containerfileArch": "Architecture that it is for; NoArch for all of them.",
    "spec.containerFile.content": "A Containerfile of at most 4096 characters.",
    "spec.imageBuilder": "What builds the image.",
    "spec.imageBuilder.imageBuilderType": "Job is the only one.",
    "spec.machineConfigPool": "The pool that gets the image.",
    "spec.machineConfigPool.name": "Name of the pool.",
    "spec.renderedImagePushSecret": "Secret to push the image with.",
    "spec.renderedImagePushSecret.name": "Name of a secret in the operator's namespace.",
    "spec.renderedImagePushSpec": f"{_PUSH_SPEC} Every build gets a tag of its own.",
    "status.currentImagePullSpec": "The newest image that was built, by digest.",
    "status.machineOSBuild": "The newest build.",
}

MACHINE_OS_BUILD = {
    **SHARED,
    **resource("*.job"),
    **resource("*.relatedObjects"),
    "": "One build of an image of the operating system.",
    "spec": "What is built. It never changes.",
    "spec.machineConfig": "The rendered MachineConfig that the image contains.",
    "spec.machineConfig.name": "Name of the MachineConfig.",
    "spec.machineOSConfig": "The MachineOSConfig that it is built for.",
    "spec.machineOSConfig.name": "Name of the MachineOSConfig.",
    "spec.renderedImagePushSpec": _PUSH_SPEC,
    "status.buildEnd": "When the build ended.",
    "status.buildStart": "When the build began.",
    "status.builder": "What builds the image.",
    "status.builder.imageBuilderType": "Job is the only one.",
    "status.builder.job": "The Job that builds the image.",
    "status.digestedImagePushSpec": "The image that was built, by digest.",
    "status.relatedObjects": "Objects that are only there for the build.",
}

PINNED_IMAGE_SET = {
    **SHARED,
    "": "Images that are pulled to the machines of pools beforehand, and stay there.",
    "spec": "The images.",
    "spec.pinnedImages": "The images, at most 500.",
    "spec.pinnedImages.name": "An image by digest: host[:port][/namespace]/name@sha256:digest.",
}

OS_IMAGE_STREAM = {
    **SHARED,
    "": "The streams of the operating system that pools can use. There is one object, cluster.",
    "spec": "Which stream is the default.",
    "spec.defaultStream": "Stream of the pools that name none.",
    "status.availableStreams": "The streams that there are.",
    "status.availableStreams.name": "Name of the stream.",
    "status.availableStreams.osExtensionsImage": "Image with the packages of the extensions, by digest.",
    "status.availableStreams.osImage": "Image of the operating system, by digest.",
    "status.defaultStream": "The default stream in use.",
}

RELEASES = {
    "*.releases.conditions": "State of the release: Mounted, Installing, Available, Removing, Degraded.",
    "*.releases.image": "Image of the release, by digest.",
    "*.releases.name": "Name of the release bundle: ocp-release-bundle-version-architecture.",
}

INTERNAL_RELEASE_IMAGE = {
    **SHARED,
    **RELEASES,
    "": "Releases that the machines of the control plane keep themselves. There is one object, cluster.",
    "spec": "The releases that are wanted.",
    "spec.releases": "Release bundles that are wanted.",
    "status.releases": "Release bundles that there are.",
}
