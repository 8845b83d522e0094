"""Real servers for the tests of the Galaxy adapter: RabbitMQ, the local Batch service and Galaxy itself.

Each module is one thing: `programs` runs a server; `broker`, `batch_service` and `galaxy_server` are the
servers; `galaxy_files` writes Galaxy's configuration from the data in `plan`; `user` drives Galaxy as a
person would; `installed` finds what has to be installed. `conftest.py` starts each once for the whole run.
"""
