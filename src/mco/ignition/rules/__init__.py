"""The rules of spec/render.md 10, one module for each part of a config.

A rule takes a struct, its JSON path, the 3.x minor version to judge by and a collector; `RULES` of `table`
says which rule looks at which struct. Messages are the original's.
"""
