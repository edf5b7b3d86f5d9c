"""The node agent: observe, decide in `plan/node`, perform on the machine, report to the cluster."""
