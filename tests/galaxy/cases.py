"""The runners and environments of the Galaxy that all tests here share: a case adds its own.

To add a case:

1. A runner, if it needs other keywords than those here, as another `manager`: a `Runner` in `RUNNERS`. Each
   runner with a message queue has a manager name of its own, or two would take each other's messages.
2. An environment, if it needs other parameters: an `Environment` in `ENVIRONMENTS`. In strings of both,
   `{amqp_url}` and `{galaxy_url}` stand for the addresses of this run.
3. A tool, if none in `tools/` does it: `tools/NAME.xml`. Every tool is there in every environment.
4. A test in a `test_*.py` of its subject:

       def test_the_exit_code_is_the_tools(history):
           ended = history.run("exits", on="queue", code=3).wait()
           assert (ended.state, ended.exit_code) == ("error", 3)

The fixtures are in `conftest.py`: `history` for runs, `pasted` for an input (an upload takes as long as a
job), and `broker`, `batch`, `galaxy` for what is to be stopped or killed. A test that stops one starts it
again, whatever happens: they are shared, and there is no second one.
"""

from __future__ import annotations

from rig.plan import Environment, Plan, Runner

RUNNERS: tuple[Runner, ...] = ()
ENVIRONMENTS = (Environment("here", runner="local"),)
"""`here` is this machine itself, by Galaxy's own runner: what fails there is the rig's fault."""
PLAN = Plan(RUNNERS, ENVIRONMENTS)
