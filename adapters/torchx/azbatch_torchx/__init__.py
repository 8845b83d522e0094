"""TorchX on Azure Batch: the `azure_batch` scheduler.

Maps TorchX's AppDef and roles onto azbatch's specs, for ``torchx run -s azure_batch``. The scheduler itself
is not here yet; this package holds its name and its place.
"""
