"""Galaxy tools on Azure Batch: Pulsar's co-execution clients and the Galaxy runners.

Maps Pulsar's submit, tool and finish containers onto azbatch's specs. The clients themselves are not here
yet; this package holds their name and their place.
"""
