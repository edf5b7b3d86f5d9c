"""ControllerConfig (spec/controllerconfig.md 5), in the notation of `api/notation`."""

from __future__ import annotations

from mco.api.crdschemas.configshapes import SHAPES
from mco.api.crdschemas.infrastructure import DNS, INFRASTRUCTURE
from mco.api.crdschemas.platformspec import PLATFORM_SPEC
from mco.api.crdschemas.platformstatus import PLATFORM_STATUS
from mco.api.notation import schema

_TEXT = r"""
ControllerConfig  object
  +typeMeta
  spec*  object
    additionalTrustBundle*  bytes nullable
    baseOSContainerImage*  string
    baseOSExtensionsContainerImage  string
    bgpVIPPeersJSON  string len=1..65536 [gate BGPBasedVIPManagement]
    cloudProviderCAData*  bytes nullable
    cloudProviderConfig*  string
    clusterDNSIP*  string
    dns*  @dns nullable embedded
    etcdDiscoveryDomain  string
    imageRegistryBundleData  atomic list of @registryBundle
    imageRegistryBundleUserData  atomic list of @registryBundle
    images*  map of string
    infra*  @infra nullable embedded
    internalRegistryPullSecret  bytes nullable
    ipFamilies*  string
    kubeAPIServerServingCAData*  bytes
    network*  object nullable
      mtuMigration*  object nullable
        machine  @mtu
        network  @mtu
    networkType  string
    osImageURL  string
    platform  string
    proxy*  object nullable
      httpProxy  string
      httpsProxy  string
      noProxy  string
    pullSecret  object mapAtomic
      apiVersion  string
      fieldPath  string
      kind  string
      name  string
      namespace  string
      resourceVersion  string
      uid  string
    releaseImage*  string
    rootCAData*  bytes
  status  object
    conditions  listMap(type) list of @condition
    controllerCertificates  atomic list of object
      bundleFile*  string
      notAfter  time
      notBefore  time
      signer*  string
      subject*  string
    observedGeneration  int64

@registryBundle  object
  data*  bytes
  file*  string

@mtu  object
  from  int32 range=0..
  to  int32 range=0..

@condition  object
  lastTransitionTime*  time nullable
  message  string
  reason  string
  status*  string
  type*  string
"""

CONTROLLER_CONFIG = schema(
    "ControllerConfig", _TEXT, SHAPES, INFRASTRUCTURE, DNS, PLATFORM_SPEC, PLATFORM_STATUS
)
