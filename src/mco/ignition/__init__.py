"""Ignition configs as values: parse, validate, merge, translate, encode.

Everything works on the newest supported spec, 3.5.0 (`types`); older documents are translated up when they
are parsed and down when a machine asks for an older version. Nothing here touches a file, a socket or a
clock.
"""
