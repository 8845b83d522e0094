"""The engine: what the service does between requests, and the calls that requests make.

`engine.Engine` is all that the routes see. Its calls are the `*_commands` modules and `node_access`. What
goes on by itself begins in `tick`, which turns to a module for each thing that moves (`allocation` and
`scaling` for pools, `nodes`, `jobs`, `schedules`, `dispatch`, `tasks`, `gangs`), over the state in `account`.
`recovery` makes that state from the tables.
"""
