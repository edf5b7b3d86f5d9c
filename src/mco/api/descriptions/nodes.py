"""MachineConfigNode."""

from __future__ import annotations

from mco.api.descriptions.images import RELEASES
from mco.api.descriptions.shared import SHARED

MACHINE_CONFIG_NODE = {
    **SHARED,
    **RELEASES,
    "": "How far one node is in an update. It has the node's name, and goes with the node.",
    "spec": "What the node is brought to.",
    "spec.configImage": "The image that the node is brought to, in pools with images of their own.",
    "spec.configImage.desiredImage": "The image, by digest.",
    "spec.configVersion": "The configuration that the node is brought to.",
    "spec.configVersion.desired": "Name of a rendered MachineConfig; not-yet-set until there is one.",
    "spec.node": "The node.",
    "spec.node.name": "Name of the node, which is that of this object.",
    "spec.pool": "The pool of the node.",
    "spec.pool.name": "Name of the pool.",
    "status.configImage": "The images of the node, in pools with images of their own.",
    "status.configImage.currentImage": "The image that it runs, by digest.",
    "status.configImage.desiredImage": "The image that it is on the way to, by digest.",
    "status.configVersion": "The configurations of the node.",
    "status.configVersion.current": "The rendered MachineConfig that it has.",
    "status.configVersion.desired": "The rendered MachineConfig that it is on the way to.",
    "status.internalReleaseImage": "Releases that the node keeps itself.",
    "status.internalReleaseImage.releases": "Release bundles on the node.",
    "status.irreconcilableChanges": "Where the node keeps what it was installed with.",
    "status.irreconcilableChanges.diff": "What differs there.",
    "status.irreconcilableChanges.fieldPath": "Path of a field of the rendered MachineConfig.",
    "status.pinnedImageSets": "How far the pinned images of the node are.",
    "status.pinnedImageSets.currentGeneration": "Generation of the set whose images are all there.",
    "status.pinnedImageSets.desiredGeneration": "Generation of the set that is to be there.",
    "status.pinnedImageSets.lastFailedGeneration": "Generation of the set that failed last.",
    "status.pinnedImageSets.lastFailedGenerationError": "Why it failed.",
    "status.pinnedImageSets.name": "Name of the PinnedImageSet.",
}
