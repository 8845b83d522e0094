"""The engine: what the service does between requests, and the calls that requests make.

`engine.Engine` is all that the routes see. Its calls are in the `*_commands` modules. What goes on by itself
is in `tick` and the modules that it calls, over the state in `account`.
"""
