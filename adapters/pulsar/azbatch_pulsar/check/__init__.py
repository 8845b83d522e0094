"""`azbatch pulsar check`: a destination's parameters, tried with Pulsar's own end-to-end check.

`parameters` reads the file, `files` serves inputs and takes outputs in Galaxy's place, `waiting` waits for
the job, `steps` is what is said of each step, and `run` does them in turn.
"""
