"""The operations: one table of all 72, and a file of handlers for each kind of resource."""
