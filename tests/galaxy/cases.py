"""The runners and environments of the Galaxy that all tests here share: a case adds its own.

To add a case:

1. A runner, if it needs other keywords than those here, as another `manager`: a `Runner` in `RUNNERS`. Each
   runner with a message queue has a manager name of its own, or two would take each other's messages.
2. An environment, if it needs other parameters: an `Environment` in `ENVIRONMENTS`. In strings of both,
   `{amqp_url}`, `{relay_url}` with its login, `{galaxy_url}`, `{refusing_url}` and `{registry}` stand for
   what there is in this run.
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

from rig.batch_service import ACCOUNT
from rig.plan import Environment, Plan, Runner
from rig.pools import POOL

ON_NODES = {
    "azure_batch_account": ACCOUNT,
    "azure_batch_pool": POOL,
    "azure_batch_runtime": "host",
    "docker_enabled": True,
}
"""On the pool whose nodes have Pulsar's programs, as this machine has them."""
IN_CONTAINERS = {**ON_NODES, "azure_batch_runtime": "docker", "pulsar_container_image": "{registry}/pulsar:1"}
"""On the same nodes, whose Docker a test starts; the registry has no image."""
IN_IMAGES = {
    **IN_CONTAINERS,
    "pulsar_container_image": "pulsar-here:1",
    "docker_container_id_override": "tool-here:1",
    "azure_batch_docker_options": "--network host",
}
"""The same, with the images that a test's Docker has."""
WITH_LITTLE = {
    **IN_IMAGES,
    "azure_batch_memory": "64MiB",
    "resubmit": [{"condition": "memory_limit_reached", "environment": "much"}],
}
ON_SPOT = {name: value for name, value in ON_NODES.items() if name != "azure_batch_pool"} | {
    "azure_batch_spot": True,
    "azure_batch_max_nodes": 1,
}
"""In a pool that azbatch makes, of one node that may be taken away."""
AT_ONCE = {
    "type": "coexecution",
    "monitor": "none",
    **{
        f"{when}process_action_{name}": 1
        for when in ("pre", "post")
        for name in ("max_retries", "interval_start")
    },
}
"""How Pulsar on a node tries a transfer again; by itself it waits for longer and longer."""
RUNNERS = (
    Runner("by_queue", {"amqp_url": "{amqp_url}", "manager": "azbatch", "galaxy_url": "{galaxy_url}"}),
    Runner(
        "by_relay",
        {
            **{f"relay_{what}": f"{{relay_{what}}}" for what in ("url", "username", "password")},
            "manager": "azbatch",
            "galaxy_url": "{galaxy_url}",
        },
    ),
    Runner("by_polling", {"galaxy_url": "{galaxy_url}"}),
    Runner("by_a_wrong_address", {"galaxy_url": "{refusing_url}"}),
)
ENVIRONMENTS = (
    Environment("here", "local"),
    Environment("queue", "by_queue", ON_NODES),
    Environment("relay", "by_relay", ON_NODES),
    Environment("poll", "by_polling", ON_NODES),
    # Nobody listens there: no message of the node ever arrives.
    Environment(
        "unheard", "by_queue", {**ON_NODES, "azure_batch_message_queue_url": "amqp://who:ever@127.0.0.1:9//"}
    ),
    Environment("refused", "by_a_wrong_address", {**ON_NODES, "pulsar_app_config": {"manager": AT_ONCE}}),
    Environment("tus", "by_polling", {**ON_NODES, "default_file_action": "remote_transfer_tus"}),
    Environment(
        "short",
        "by_polling",
        {
            **ON_NODES,
            "azure_batch_walltime": "3s",
            "resubmit": [{"condition": "walltime_reached", "environment": "long"}],
        },
    ),
    # Galaxy 26.1 hands on what it does not say itself: the wall time of the first one, too.
    Environment("long", "by_polling", {**ON_NODES, "azure_batch_walltime": "1h"}),
    Environment("containers", "by_polling", IN_CONTAINERS),
    Environment("little", "by_polling", WITH_LITTLE),
    Environment("little_queue", "by_queue", WITH_LITTLE),
    Environment("much", "by_polling", {**IN_IMAGES, "azure_batch_memory": "512MiB"}),
    Environment("spot", "by_polling", ON_SPOT),
    Environment("no_pool", "by_polling", {**ON_NODES, "azure_batch_pool": "not-there"}),
    # Each would be submitted again, to an environment where it runs well.
    *(
        Environment(
            name,
            "by_polling",
            {**ON_NODES, **wrong, "resubmit": [{"condition": "any_failure", "environment": "poll"}]},
        )
        for name, wrong in {
            "typo": {"azure_batch_memmory": "8GiB"},
            "no_account": {"azure_batch_account": "nobodys"},
        }.items()
    ),
)
"""`here` is this machine itself, by Galaxy's own runner: what fails there is the rig's fault."""
PLAN = Plan(RUNNERS, ENVIRONMENTS)
