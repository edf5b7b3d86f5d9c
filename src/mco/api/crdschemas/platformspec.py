"""The platform block of an Infrastructure's spec (spec/controllerconfig.md 6), in the notation of `api/notation`."""

# ruff: noqa: E501 (a rule is one line)
from __future__ import annotations

PLATFORM_SPEC = r"""
@platformSpec  object
  ! [base] !has(oldSelf.vsphere) && has(self.vsphere) ? (has(self.vsphere.vcenters) && size(self.vsphere.vcenters) < 2) : true
  = vcenters can have at most 1 item when configured post-install
  ! [gate VSphereMultiVCenterDay2] oldSelf.?vsphere.vcenters.hasValue() ? self.?vsphere.vcenters.hasValue() : true
  = vcenters is required once set and cannot be removed
  alibabaCloud  object
  aws  object
    serviceEndpoints  atomic list of @awsEndpoint
  azure  object
  baremetal  object
    +specVIPs
  equinixMetal  object
  external  object
    platformName  string default="Unknown"
      ! oldSelf == 'Unknown' || self == oldSelf
      = platform name cannot be changed once set
  gcp  object
  ibmcloud  object
    serviceEndpoints  listMap(name) list n=..13 of object [gate DyanmicServiceEndpointIBMCloud]
      name*  @ibmService
      url*  string len=..300
        ! url(self).getScheme() == "https"
        = url must use https scheme
        ! matches((url(self).getEscapedPath()), '^/(api/)?v[0-9]+/{0,1}$')
        = url path must match /v[0,9]+ or /api/v[0,9]+
        ! isURL(self)
        = url must be a valid absolute URL
  kubevirt  object
  nutanix  object
    failureDomains  listMap(name) list n=..32[gate NutanixMultiSubnets] of object
      cluster*  @nutanixRef
      name*  string len=1..64 pattern=`[a-z0-9]([-a-z0-9]*[a-z0-9])?`
      subnets*  atomic list n=1.. n=..1[base] n=..32[gate NutanixMultiSubnets] of @nutanixRef
        ! [gate NutanixMultiSubnets] self.all(x, self.exists_one(y, x == y))
        = each subnet must be unique
    prismCentral*  @nutanixAddress
    prismElements*  listMap(name) list of object
      endpoint*  @nutanixAddress
      name*  string len=..256
  openstack  object
    +specVIPs
  ovirt  object
  powervs  object
    serviceEndpoints  listMap(name) list of @powerEndpoint
  type  @platform
  vsphere  object
    ! [gate VSphereMultiVCenterDay2] !has(self.failureDomains) || size(self.failureDomains) == 0 || (has(self.vcenters) && self.failureDomains.all(fd, self.vcenters.exists(vc, vc.server == fd.server)))
    = all failure domains must have a corresponding vCenter entry
    +specVIPs
    failureDomains  listMap(name) list of object
      []! [gate VSphereHostVMGroupZonal] has(self.zoneAffinity) && self.zoneAffinity.type == 'HostGroup' ?  has(self.regionAffinity) && self.regionAffinity.type == 'ComputeCluster' : true
      []= when zoneAffinity type is HostGroup, regionAffinity type must be ComputeCluster
      []! [gate VSphereHostVMGroupZonal] has(self.zoneAffinity) && self.zoneAffinity.type == 'ComputeCluster' ?  has(self.regionAffinity) && self.regionAffinity.type == 'Datacenter' : true
      []= when zoneAffinity type is ComputeCluster, regionAffinity type must be Datacenter
      name*  string len=1..256
      region*  string len=1..80
      regionAffinity  object
        type*  string enum(ComputeCluster,Datacenter)
      server*  string len=1..255
      topology*  object
        computeCluster*  string len=..2048 pattern=`^/.*?/host/.*?`
        datacenter*  string len=..80
        datastore*  string len=..2048 pattern=`^/.*?/datastore/.*?`
        folder  string len=..2048 pattern=`^/.*?/vm/.*?`
        networks*  atomic list n=1.. n=..1[base] n=..10[gate VSphereMultiNetworks] of string
        resourcePool  string len=..2048 pattern=`^/.*?/host/.*?/Resources.*`
        template  string len=1..2048 pattern=`^/.*?/vm/.*?`
      zone*  string len=1..80
      zoneAffinity  object
        ! has(self.type) && self.type == 'HostGroup' ?  has(self.hostGroup) : !has(self.hostGroup)
        = hostGroup is required when type is HostGroup, and forbidden otherwise
        hostGroup  object
          hostGroup*  string len=1..80
          vmGroup*  string len=1..80
          vmHostRule*  string len=1..80
        type*  string enum(HostGroup,ComputeCluster)
    nodeNetworking  object
      external  @vsphereNetworking
      internal  @vsphereNetworking
    vcenters  atomic list n=1..3 of object
      ! [gate VSphereMultiVCenterDay2] size(self) >= size(oldSelf) ? oldSelf.all(x, self.exists(y, y.server == x.server)) : true
      = Cannot add and remove vCenters at the same time
      ! [gate VSphereMultiVCenterDay2] size(self) < size(oldSelf) ? self.all(x, oldSelf.exists(y, y.server == x.server)) : true
      = Cannot add and remove vCenters at the same time
      ! [base] size(self) != size(oldSelf) ? size(oldSelf) == 0 && size(self) < 2 : true
      = vcenters cannot be added or removed once set
      ! self.all(x, self.exists_one(y, y.server == x.server))
      = vcenters must have unique server values
      datacenters*  set list n=1.. of string
      port  int32 range=1..32767
      server*  string len=..255
"""
