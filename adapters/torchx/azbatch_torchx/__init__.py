"""TorchX on Azure Batch: the scheduler `azure_batch`, for ``torchx run -s azure_batch``.

`scheduler` is what TorchX talks to; `mapping` makes azbatch's specs of an app; `states` tells how it stands.
What differs between the lines of TorchX is in `compat`.
"""
