"""What keeps the installation whole: CRDs, namespaces, built-in pools, ControllerConfig,
MachineConfiguration, one MachineConfigNode per Node (design.md 10)."""
