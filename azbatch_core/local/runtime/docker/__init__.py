"""Container tasks by the `docker` command.

Its `create` parses run options exactly as Batch's documentation promises, with Docker's own words for what is
wrong with them, and `start --attach` is one process to watch that writes the task's files, like any other
task's. The alternatives, HTTP to the daemon's socket and the `docker` package, would need all of `docker
create`'s options parsed here, and a copy of each output byte through the event loop or a thread.
"""
