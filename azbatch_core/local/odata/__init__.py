"""The query options of lists: `$filter`, as far as Azure Batch has it."""
