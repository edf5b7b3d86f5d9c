"""Ignition spec 2.2.0 and what is older: read, judged, brought to 3.5; and written for clients of that age.

Spec 1 has no `ignition.version`, so that the original refuses it before it tries (spec/render.md 8.1).
"""
