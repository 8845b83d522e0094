"""Runtimes: what carries out the commands of nodes.

`base` is the seam between the engine and a runtime. `process` runs commands for real: a try (`attempt`) is
staged, run on a host (`host`: this machine; `docker.host`: a container) and uploaded. `model` runs nothing.
"""
