"""A plan: exactly what will be sent, where it goes, what it costs and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from azbatch_core.plan.secrets import mask
from azbatch_core.specs.problems import mask_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.plan.scaling import Scaling
    from azbatch_core.plan.tasks import TaskPlanner
    from azbatch_core.specs import JobSpec, TaskSpec


@dataclass(frozen=True)
class PlannedPool:
    """The pool that a job runs on.

    Attributes:
        kind: ``existing``, ``managed`` or ``auto``.
        id: The pool's id; None for an auto pool, whose id the service makes.
        action: ``use`` (must exist), ``ensure`` (created if missing, made larger if need be) or ``auto``
            (comes and goes with the job).
        body: The JSON of ``POST /pools``, secrets as leaves; for an auto pool the
            ``autoPoolSpecification``; None for an existing pool.
        vm_size: None for an existing pool that was not looked up.
        task_slots_per_node: How many task slots each node has; None for an existing pool that was not
            looked up.
        nodes: Dedicated nodes to have; the most of them where the pool scales.
        spot_nodes: Spot nodes to have; the most of them where the pool scales.
        scaling: How a managed pool grows and shrinks; None where its size is fixed, and for other pools.
        fixed: Of a managed pool: the part of the body that must be as planned on a pool that is there.
        image: The node image for people; None for an existing pool.
        reasons: Why this VM size and image.
    """

    kind: Literal["existing", "managed", "auto"]
    id: str | None
    action: Literal["use", "ensure", "auto"]
    body: dict[str, Any] | None = field(repr=False)
    vm_size: str | None
    task_slots_per_node: int | None
    nodes: int
    spot_nodes: int
    scaling: Scaling | None = None
    fixed: dict[str, Any] | None = field(default=None, repr=False)
    image: str | None = None
    reasons: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class PlannedTask:
    """One task as it will be sent.

    Attributes:
        id: Its id; a number where the spec gives none.
        spec: What was asked for.
        body: The JSON of a ``BatchTaskCreateOptions``, secrets as leaves.
        size: The bytes of that JSON in a request, values that are not known yet guessed generously.
        outputs: The blobs that its output files become, as ``CONTAINER/BLOB``.
    """

    id: str
    spec: TaskSpec = field(repr=False)
    body: dict[str, Any] = field(repr=False)
    size: int
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What `submit` will do with a job, and what `dry_run` shows.

    Attributes:
        account: The account's name.
        endpoint: Its URL.
        job_id: The id that the job will have.
        job: What was asked for.
        pool: Where it runs.
        tasks: The job's tasks, in the order of the spec.
        job_body: The JSON of ``POST /jobs``, secrets as leaves.
        warnings: What the user should know before paying for it.
        reasons: Why the plan is as it is.
        stamp: Unique to this submission; also in the job's metadata as ``azbatch:stamp``, so that a job
            whose creation got no reply is recognised.
        hourly_price_usd: What the pool's nodes cost an hour, at most where it scales: spot nodes at the price
            of dedicated ones there, and not counted in a pool of a fixed size. None where that is not known.
        price_basis: Of what, where and when that is the price.
    """

    account: str
    endpoint: str
    job_id: str
    job: JobSpec = field(repr=False)
    pool: PlannedPool
    tasks: tuple[PlannedTask, ...] = field(repr=False)
    job_body: dict[str, Any] = field(repr=False)
    warnings: tuple[str, ...]
    reasons: tuple[str, ...]
    stamp: str
    hourly_price_usd: float | None
    price_basis: str | None
    _planner: TaskPlanner = field(repr=False, compare=False)

    def plan_task(self, spec: TaskSpec) -> PlannedTask:
        """Plan one more task, for jobs whose tasks come from an iterable.

        Numbers for tasks without an id go on from where the plan (and earlier calls) left off. A dependency
        on a stage means the stage's tasks so far. Not for use by several threads at once.

        Raises:
            SpecError: The task breaks a rule that the plan fixed: it is larger than the pool's nodes, its
                id is taken, it depends on a task that is not known, or it does not fit the pool's
                containers.
        """
        return self._planner.plan(spec)

    def rewind(self) -> None:
        """Forget the tasks that `plan_task` planned, so that the same stream gets the same ids again.

        For carrying the same plan out once more, such as after an interruption.
        """
        self._planner.rewind()

    @property
    def later_warnings(self) -> tuple[str, ...]:
        """Warnings about tasks that `plan_task` planned."""
        return self._planner.later_warnings(self.warnings)

    def to_json(self) -> dict[str, Any]:
        """The whole plan as JSON data, without secrets."""
        return {
            "account": self.account,
            "jobId": self.job_id,
            "stamp": self.stamp,
            "hourlyPriceUsd": self.hourly_price_usd,
            "priceBasis": self.price_basis,
            "pool": {
                "kind": self.pool.kind,
                "id": self.pool.id,
                "action": self.pool.action,
                "vmSize": self.pool.vm_size,
                "taskSlotsPerNode": self.pool.task_slots_per_node,
                "nodes": self.pool.nodes,
                "spotNodes": self.pool.spot_nodes,
                "scaling": self.pool.scaling.to_json() if self.pool.scaling else None,
                "body": mask(self.pool.body),
            },
            "job": mask(self.job_body),
            "tasks": [
                {"id": task.id, "size": task.size, "outputs": list(task.outputs), "body": mask(task.body)}
                for task in self.tasks
            ],
            "warnings": [mask_text(text) for text in self.warnings],
            "reasons": [mask_text(text) for text in self.reasons],
        }

    def to_table(
        self, *, warnings: bool = False, formula: bool = True, commands: Mapping[str, str] | None = None
    ) -> str:
        """The plan as text for people, without secrets and colours.

        Args:
            warnings: Whether the warnings are part of it.
            formula: Whether the pool's formula is, beside the words about it.
            commands: What to show of tasks, by their ids, where their command lines say less to a person.
        """
        from azbatch_core.plan.render import plain

        return plain(self, warnings=warnings, with_formula=formula, commands=commands)
