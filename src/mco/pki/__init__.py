"""Keys, certificates, signing requests and the kubeconfigs that carry them.

Every key is P-256. Every certificate starts an hour in the past, because the clock of a machine at first boot
is often wrong (design.md 10, identity). Functions take `now`; nothing here reads a clock.
"""
