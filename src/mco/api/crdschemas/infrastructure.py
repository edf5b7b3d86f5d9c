"""config.openshift.io Infrastructure and DNS, as a ControllerConfig embeds them (spec/controllerconfig.md 5).

In the notation of `api/notation`.
"""

# ruff: noqa: E501 (a rule is one line)
from __future__ import annotations

INFRASTRUCTURE = r"""
@infra  object
  ! [gate MutableTopology] !has(self.spec.controlPlaneTopology) || (has(oldSelf.spec.controlPlaneTopology) && self.spec.controlPlaneTopology == oldSelf.spec.controlPlaneTopology) || (has(self.status.controlPlaneTopology) && self.spec.controlPlaneTopology == self.status.controlPlaneTopology) || (has(self.status.controlPlaneTopology) && self.status.controlPlaneTopology == 'SingleReplica' && self.spec.controlPlaneTopology == 'HighlyAvailable')
  = spec.controlPlaneTopology must match status.controlPlaneTopology or be set to HighlyAvailable when status.controlPlaneTopology is SingleReplica
  +typeMeta
  spec*  object
    cloudConfig  object
      key  string
      name  string
    controlPlaneTopology  string enum(HighlyAvailable,SingleReplica) [gate MutableTopology]
    platformSpec  @platformSpec
  status  object
    apiServerInternalURI  string
    apiServerURL  string
    controlPlaneTopology  string enum(HighlyAvailable,HighlyAvailableArbiter,SingleReplica,External)[base] enum(HighlyAvailable,HighlyAvailableArbiter,SingleReplica,DualReplica,External)[gate DualReplica] default="HighlyAvailable"
    cpuPartitioning  string enum(None,AllNodes) default="None"
    etcdDiscoveryDomain  string
    infrastructureName  string
    infrastructureTopology  string enum(HighlyAvailable,SingleReplica) default="HighlyAvailable"
    platform  @platform
    platformStatus  @platformStatus
"""

DNS = r"""
@dns  object
  +typeMeta
  spec*  object
    baseDomain  string
    platform  object
      ! has(self.type) && self.type == 'AWS' ?  has(self.aws) : !has(self.aws)
      = aws configuration is required when platform is AWS, and forbidden otherwise
      aws  object
        privateZoneIAMRole  string
          ! [base] matches(self, '^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.*$')
          = privateZoneIAMRole must be a valid AWS IAM role ARN in the format: arn:<partition>:iam::<account-id>:role/<role-name>
          ! [gate AWSEuropeanSovereignCloudInstall] matches(self, '^arn:(aws|aws-cn|aws-us-gov|aws-eusc):iam::[0-9]{12}:role/.*$')
          = privateZoneIAMRole must be a valid AWS IAM role ARN in the format: arn:<partition>:iam::<account-id>:role/<role-name>
      type*  @platform
        ! self in ['','AWS']
        = allowed values are '' and 'AWS'
    privateZone  @zone
    publicZone  @zone
  status  object
"""
