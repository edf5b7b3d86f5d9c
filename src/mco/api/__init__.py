"""The wire: object types as narrow typed views, the resources they belong to, and every name we put on them.

A type here declares only the fields that this project reads. Objects are decoded straight from bytes and are
never written back whole: writers send patches, so what a type does not know is never lost (design.md 4).
"""
