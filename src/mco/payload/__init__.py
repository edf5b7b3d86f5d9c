"""The manifests of an installation, as package data.

`manifests/` has what every installation applies first, under the run-level names of the original's payload;
`policies/` the admission policies. Both are generated from the tables in `api/` (`mco.payload.generate`).
"""
