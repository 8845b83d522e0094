"""The engine: what the service does between requests, and the calls that requests make.

`engine.Engine` is all that the routes see; its calls are in `commands`. What goes on by itself begins in
`tick`, which turns to a module for each thing that moves (`allocation` and `scaling` for pools, `nodes`,
`jobs`, `schedules`, `dispatch`, `tasks`, `gangs`), over the state in `account`. `recovery` makes that state
from the tables.
"""
