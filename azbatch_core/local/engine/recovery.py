"""From what the tables say to a world that goes on where the last process stopped, even if it was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, jobs, nodes, retention
from azbatch_core.local.store.records import Job, Node, Pool, Preparation

if TYPE_CHECKING:
    from azbatch_core.local.engine.world import World

__all__ = ["recover"]


def recover(world: World) -> None:
    """Restore records, put tasks that were on a node back to active, resume what was under way.

    Neither retries nor requeues are counted: no user asked for it (SDK BatchTaskExecutionInfo.requeue_count).
    Start tasks that completed are not run again; preparations that did not complete are.
    """
    _load(world)
    for task in world.store.tasks.live():
        world.store.tasks.back(task.seq, world.now())
    _count(world)
    for node in tuple(world.nodes.values()):
        _resume_node(world, node)
    for pool in world.pools.values():
        world.due_pools[pool.key] = None
        if pool.allocation == "resizing" and not pool.resize_started:
            _resume_resize(world, pool)
    for job in tuple(world.jobs.values()):
        world.due_jobs[job.key] = None
        jobs.arm_wall_clock(world, job)
    retention.arm(world)


def _load(world: World) -> None:
    for pool in world.store.load(Pool):
        world.add_pool(pool)
        world.stamped_until(pool.modified)
    for node in world.store.load(Node):
        world.add_node(node)
    for job in world.store.load(Job):
        world.add_job(job)
        world.stamped_until(job.modified)
    world.stamped_until(world.store.tasks.last_modified())
    for preparation in world.store.load(Preparation):
        if preparation.state == "running":
            world.store.delete(preparation)
            continue
        world.preparations[preparation.job][preparation.node] = preparation
        if preparation.state == "failed" and preparation.node in world.nodes:
            _bar(world, preparation)
        if preparation.release is not None and preparation.release["state"] == "running":
            preparation.release = None
            world.jobs[preparation.job].released = False


def _bar(world: World, preparation: Preparation) -> None:
    task = world.jobs[preparation.job].spec.get("jobPreparationTask")
    if task is not None and task["waitForSuccess"]:
        world.barred.setdefault(preparation.job, set()).add(preparation.node)


def _count(world: World) -> None:
    for key, state, waits, failed, tasks, slots in world.store.tasks.tally():
        counts = world.counts[key]
        kind = ("failed" if failed else "succeeded") if state == "completed" else state
        counts.add(kind, tasks, slots)
        if state == "active" and not waits:
            counts.ready += tasks


def _resume_node(world: World, node: Node) -> None:
    if node.leaving is not None:
        world.due_nodes[node.key] = None
    elif node.state in {"creating", "starting", "waitingforstarttask"}:
        nodes.boot(world, node)
    elif node.state not in {"starttaskfailed", "unusable"} and nodes.make_folders(world, node):
        nodes.open_node(world, node)


def _resume_resize(world: World, pool: Pool) -> None:
    world.after("resize", pool.key, world.settings.resize_time, lambda: allocation.start_resize(world, pool))
