"""Runtimes: what carries out the commands of nodes.

`base` is the seam between the engine and a runtime; `process` runs commands as processes of this machine.
"""
