"""The referee: a process of its own that rebuilds what limits were in force and judges them.

It reads files only, and imports nothing of the product nor of the rest of the twin.
"""
