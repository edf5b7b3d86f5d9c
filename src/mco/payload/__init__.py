"""The manifests of an installation, as package data.

`manifests/` has what every installation applies, under the run-level names of the original's payload;
`operands/` what the operator then runs. Both are generated from `source/` (`mco.payload.generate`).
"""
