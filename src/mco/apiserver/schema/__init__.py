"""Structural schemas of CustomResourceDefinitions, compiled to functions."""
