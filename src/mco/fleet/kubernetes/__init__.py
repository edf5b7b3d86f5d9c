"""`mco up --kubernetes`: a real control plane on this host, and machines with real kubelets."""
