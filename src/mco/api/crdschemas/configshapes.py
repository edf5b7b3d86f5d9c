"""Shapes that the OpenShift types inside a ControllerConfig share (spec/controllerconfig.md 4).

In the notation of `api/notation`.
"""

# ruff: noqa: E501 (a rule is one line)
from __future__ import annotations

SHAPES = r"""
@platform  string enum("",AWS,Azure,BareMetal,GCP,Libvirt,OpenStack,None,VSphere,oVirt,IBMCloud,KubeVirt,EquinixMetal,PowerVS,AlibabaCloud,Nutanix,External)

@ip  string len=1..39
  ! isIP(self)
  = value must be a valid IP address

@cidr  string len=1..43
  ! isCIDR(self)
  = value must be a valid CIDR network address

@machineNetworks  atomic list n=..32 of @cidr
  ! self.all(x, self.exists_one(y, x == y))

@zone  object
  id  string
  tags  map of string

@awsEndpoint  object
  name  string pattern=`^[a-z0-9-]+$`
  url  string pattern=`^https://`

@ibmService  string enum(CIS,COS,COSConfig,DNSServices,GlobalCatalog,GlobalSearch,GlobalTagging,HyperProtect,IAM,KeyProtect,ResourceController,ResourceManager,VPC)

@powerEndpoint  object
  name*  string enum(CIS,COS,COSConfig,DNSServices,GlobalCatalog,GlobalSearch,GlobalTagging,HyperProtect,IAM,KeyProtect,Power,ResourceController,ResourceManager,VPC)
  url*  string format=uri pattern=`^https://`

@nutanixRef  object
  ! has(self.type) && self.type == 'UUID' ?  has(self.uuid) : !has(self.uuid)
  = uuid configuration is required when type is UUID, and forbidden otherwise
  ! has(self.type) && self.type == 'Name' ?  has(self.name) : !has(self.name)
  = name configuration is required when type is Name, and forbidden otherwise
  name  string
  type*  string enum(UUID,Name)
  uuid  string

@nutanixAddress  object
  address*  string len=..256
  port*  int32 range=1..65535

@vsphereNetworking  object
  excludeNetworkSubnetCidr  atomic list of string
  network  string
  networkSubnetCidr  set list of string

@cloudLB  object default={"dnsType":"PlatformDefault"}
  ! has(self.dnsType) && self.dnsType != 'ClusterHosted' ? !has(self.clusterHosted) : true
  = clusterHosted is permitted only when dnsType is ClusterHosted
  clusterHosted  object
    apiIntLoadBalancerIPs  set list n=..16 format=ip of @ip
    apiLoadBalancerIPs  set list n=..16 format=ip of @ip
    ingressLoadBalancerIPs  set list n=..16 format=ip of @ip
  dnsType  string enum(ClusterHosted,PlatformDefault) default="PlatformDefault"
    ! oldSelf == '' || self == oldSelf
    = dnsType is immutable

@ipFamily  string enum(IPv4,DualStackIPv6Primary,DualStackIPv4Primary) default="IPv4"
  ! oldSelf == '' || self == oldSelf
  = ipFamily is immutable once set

@onPremLB  object default={"type":"OpenShiftManagedDefault"}
  type  string enum(OpenShiftManagedDefault,UserManaged) default="OpenShiftManagedDefault"
    ! oldSelf == '' || self == oldSelf
    = type is immutable once set

+typeMeta
  apiVersion  string
  kind  string
  metadata  object

+specVIPs
  ! !has(oldSelf.apiServerInternalIPs) || has(self.apiServerInternalIPs)
  = apiServerInternalIPs list is required once set
  ! !has(oldSelf.ingressIPs) || has(self.ingressIPs)
  = ingressIPs list is required once set
  apiServerInternalIPs  atomic list n=..2 of @ip
    ! size(self) == 2 && isIP(self[0]) && isIP(self[1]) ? ip(self[0]).family() != ip(self[1]).family() : true
    = apiServerInternalIPs must contain at most one IPv4 address and at most one IPv6 address
  ingressIPs  atomic list n=..2 of @ip
    ! size(self) == 2 && isIP(self[0]) && isIP(self[1]) ? ip(self[0]).family() != ip(self[1]).family() : true
    = ingressIPs must contain at most one IPv4 address and at most one IPv6 address
  machineNetworks  @machineNetworks

+statusVIP
  apiServerInternalIP  string
  ingressIP  string

+statusVIPs
  +statusVIP
  ! [gate OnPremDNSRecords] !has(self.dnsRecordsType) || self.dnsRecordsType == 'Internal' || (has(self.loadBalancer) && self.loadBalancer.type == 'UserManaged')
  = dnsRecordsType may only be set to External when loadBalancer.type is UserManaged
  apiServerInternalIPs  $L list n=..2 format=ip of string
    ! self == oldSelf || (size(self) == 2 && isIP(self[0]) && isIP(self[1]) ? ip(self[0]).family() != ip(self[1]).family() : true)
    = apiServerInternalIPs must contain at most one IPv4 address and at most one IPv6 address
  dnsRecordsType  string enum(Internal,External) [gate OnPremDNSRecords]
  ingressIPs  $L list n=..2 format=ip of string
    ! self == oldSelf || (size(self) == 2 && isIP(self[0]) && isIP(self[1]) ? ip(self[0]).family() != ip(self[1]).family() : true)
    = ingressIPs must contain at most one IPv4 address and at most one IPv6 address
  loadBalancer  @onPremLB
"""
