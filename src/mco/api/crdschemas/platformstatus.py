"""The platform block of an Infrastructure's status (spec/controllerconfig.md 6), in the notation of `api/notation`."""

# ruff: noqa: E501 (a rule is one line)
from __future__ import annotations

PLATFORM_STATUS = r"""
@platformStatus  object
  alibabaCloud  object
    region*  string pattern=`^[0-9A-Za-z-]+$`
    resourceGroupID  string pattern=`^(rg-[0-9A-Za-z]+)?$`
    resourceTags  listMap(key) list n=..20 of object
      key*  string len=1..128
      value*  string len=1..128
  aws  object
    cloudLoadBalancerConfig  @cloudLB nullable [gate AWSClusterHostedDNSInstall]
    ipFamily  @ipFamily [gate AWSDualStackInstall]
    region  string
    resourceTags  atomic list n=..25 of object
      key*  string len=1..128
        ! self.matches('^[0-9A-Za-z_.:/=+-@ ]+$')
        = invalid AWS resource tag key. The string can contain only the set of alphanumeric characters, space (' '), '_', '.', '/', '=', '+', '-', ':', '@'
      value*  string len=1..256
        ! self.matches('^[0-9A-Za-z_.:/=+-@ ]+$')
        = invalid AWS resource tag value. The string can contain only the set of alphanumeric characters, space (' '), '_', '.', '/', '=', '+', '-', ':', '@'
    serviceEndpoints  atomic list of @awsEndpoint
  azure  object
    ! !has(oldSelf.resourceTags) && !has(self.resourceTags) || has(oldSelf.resourceTags) && has(self.resourceTags)
    = resourceTags may only be configured during installation
    armEndpoint  string
    cloudLoadBalancerConfig  @cloudLB
    cloudName  string enum("",AzurePublicCloud,AzureUSGovernmentCloud,AzureChinaCloud,AzureGermanCloud,AzureStackCloud,AzureUSSecCloud)
    ipFamily  @ipFamily [gate AzureDualStackInstall]
    networkResourceGroupName  string
    resourceGroupName  string
    resourceTags  atomic list n=..10 of object
      ! self.all(x, x in oldSelf) && oldSelf.all(x, x in self)
      = resourceTags are immutable and may only be configured during installation
      key*  string len=1..128 pattern=`^[a-zA-Z]([0-9A-Za-z_.-]*[0-9A-Za-z_])?$`
      value*  string len=1..256 pattern=`^[0-9A-Za-z_.=+-@]+$`
  baremetal  object
    +statusVIPs(atomic)
    machineNetworks  @machineNetworks
    nodeDNSIP  string
    vipManagement  string enum(Keepalived,BGP) [gate BGPBasedVIPManagement]
      ! oldSelf == '' || self == oldSelf
      = vipManagement is immutable once set
  equinixMetal  object
    +statusVIP
  external  object
    ! has(self.cloudControllerManager) == has(oldSelf.cloudControllerManager)
    = cloudControllerManager may not be added or removed once set
    cloudControllerManager  object
      ! (has(self.state) == has(oldSelf.state)) || (!has(oldSelf.state) && self.state != "External")
      = state may not be added or removed once set
      state  string enum("",External,None)
        ! self == oldSelf
        = state is immutable once set
  gcp  object
    ! !has(oldSelf.resourceLabels) && !has(self.resourceLabels) || has(oldSelf.resourceLabels) && has(self.resourceLabels)
    = resourceLabels may only be configured during installation
    ! !has(oldSelf.resourceTags) && !has(self.resourceTags) || has(oldSelf.resourceTags) && has(self.resourceTags)
    = resourceTags may only be configured during installation
    cloudLoadBalancerConfig  @cloudLB nullable
    projectID  string
    region  string
    resourceLabels  listMap(key) list n=..32 of object
      ! self.all(x, x in oldSelf) && oldSelf.all(x, x in self)
      = resourceLabels are immutable and may only be configured during installation
      key*  string len=1..63 pattern=`^[a-z][0-9a-z_-]{0,62}$`
        ! !self.startsWith('openshift-io') && !self.startsWith('kubernetes-io')
        = label keys must not start with either `openshift-io` or `kubernetes-io`
      value*  string len=1..63 pattern=`^[0-9a-z_-]{1,63}$`
    resourceTags  listMap(key) list n=..50 of object
      ! self.all(x, x in oldSelf) && oldSelf.all(x, x in self)
      = resourceTags are immutable and may only be configured during installation
      key*  string len=1..63 pattern=`^[a-zA-Z0-9]([0-9A-Za-z_.-]{0,61}[a-zA-Z0-9])?$`
      parentID*  string len=1..32 pattern=`(^[1-9][0-9]{0,31}$)|(^[a-z][a-z0-9-]{4,28}[a-z0-9]$)`
      value*  string len=1..63 pattern=`^[a-zA-Z0-9]([0-9A-Za-z_.@%=+:,*#&()\[\]{}\-\s]{0,61}[a-zA-Z0-9])?$`
    universeDomain  string len=1..253 [gate GCPSovereignCloudInstall]
      ! !format.dns1123Subdomain().validate(self).hasValue()
      = universeDomain must be a valid DNS subdomain: contain no more than 253 characters, contain only lowercase alphanumeric characters, '-' or '.', and start and end with an alphanumeric character
  ibmcloud  object
    cisInstanceCRN  string
    dnsInstanceCRN  string
    location  string
    providerType  string
    resourceGroupName  string
    serviceEndpoints  listMap(name) list n=..13[gate DyanmicServiceEndpointIBMCloud] of object
      name*  @ibmService
      url*  string len=..300
        ! [gate DyanmicServiceEndpointIBMCloud alone] url(self).getScheme() == "https"
        = url must use https scheme
        ! [gate DyanmicServiceEndpointIBMCloud alone] matches((url(self).getEscapedPath()), '^/(api/)?v[0-9]+/{0,1}$')
        = url path must match /v[0,9]+ or /api/v[0,9]+
        ! isURL(self)
        = url must be a valid absolute URL
  kubevirt  object
    +statusVIP
  nutanix  object
    +statusVIPs(set)
  openstack  object
    +statusVIPs(atomic)
    cloudName  string
    machineNetworks  @machineNetworks
    nodeDNSIP  string
  ovirt  object
    +statusVIPs(set)
    nodeDNSIP  string
  powervs  object
    ! !has(oldSelf.resourceGroup) || has(self.resourceGroup)
    = cannot unset resourceGroup once set
    cisInstanceCRN  string
    dnsInstanceCRN  string
    region  string
    resourceGroup  string len=..40 pattern=`^[a-zA-Z0-9-_ ]+$`
      ! oldSelf == '' || self == oldSelf
      = resourceGroup is immutable once set
    serviceEndpoints  listMap(name) list of @powerEndpoint
    zone  string
  type  @platform
  vsphere  object
    +statusVIPs(atomic)
    machineNetworks  @machineNetworks
    nodeDNSIP  string
"""
