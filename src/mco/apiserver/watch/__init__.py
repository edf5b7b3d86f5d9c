"""Who hears of which change.

A watcher of one object is filed under that object's name, so a change reaches exactly those whom it concerns.
What is sent is encoded once per change and form, and shared.
"""
