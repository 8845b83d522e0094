"""The nodes of a pool of ours: VM size, image and task slots, chosen or checked, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from azbatch_core.catalog.images import Image, default_image, default_images, find_image, images
from azbatch_core.catalog.vm_sizes import VmSize, find_vm_size, nearest_vm_sizes
from azbatch_core.errors import SpecError
from azbatch_core.plan.vm_choice import Choice, Needs, biggest, caveat, choose

if TYPE_CHECKING:
    from azbatch_core.plan.facts import AccountFacts
    from azbatch_core.plan.notes import Notes
    from azbatch_core.specs import AutoPool, ImageSpec, JobSpec, ManagedPool, Resources
    from azbatch_core.specs.command import OperatingSystem

_NOTICE = timedelta(days=180)  # warn this long before an image's support ends


@dataclass(frozen=True)
class Nodes:
    """The nodes of a pool that a plan makes.

    Attributes:
        vm_name: The VM size's name.
        vm: What it holds; None for a size that the catalog does not know.
        slots: Task slots for each node.
        image: The image for people.
        image_reference: Its JSON.
        agent: Its node agent.
        os: What the command lines are written for.
        reasons: Why all that.
    """

    vm_name: str
    vm: VmSize | None
    slots: int
    image: str
    image_reference: dict[str, Any]
    agent: str
    os: OperatingSystem
    reasons: tuple[str, ...] = ()


def needs_of(resources: Resources) -> Needs:
    """A spec's resources as what the catalog compares."""
    return Needs(
        cpus=resources.cpus or 0,
        memory=resources.memory or 0,
        disk=resources.disk or 0,
        gpus=resources.gpus,
        gpu_model=resources.gpu_model,
    )


def biggest_task(job: JobSpec) -> Needs:
    """What a node needs to run any task of the job."""
    asked = dict.fromkeys(task.resources or job.resources for task in job.tasks) or {job.resources: None}
    return biggest(needs_of(resources) for resources in asked if resources is not None)


def plan_nodes(
    job: JobSpec, pool: ManagedPool | AutoPool, facts: AccountFacts, notes: Notes, *, docker: bool
) -> Nodes:
    """Choose or check the nodes.

    Raises:
        SpecError: No VM size fits, the image does not fit the size or its agent, its support has ended, or
            it cannot host the containers that the job asks for.
    """
    named = _resolve_image(pool.image, facts, notes, docker=docker) if pool.image else None
    needs = biggest_task(job)
    reasons: list[str] = []
    if pool.vm_size:
        vm, vm_name = _named_size(pool.vm_size, notes)
        reasons.append(f"{vm_name}: named in the pool's spec")
    else:
        choice = _chosen_size(needs, named, facts, docker=docker)
        vm, vm_name = choice.size, choice.size.name
        reasons += _explain(choice)
        if choice.caveat:
            notes.add(choice.caveat)
    image = named or _default(vm, vm_name, docker=docker)
    if named is None:
        reasons.append(f"image {image.name}: the default for {_purpose(vm, docker=docker)}")
    if named is not None and named.known is not None and vm is not None:
        _check_fit(named.known, vm)
    slots = _slots(pool.task_slots_per_node, vm, vm_name)
    windows = image.agent.startswith("batch.node.windows")
    if windows and facts.is_local:
        notes.add("the local service runs programs of this machine: commands for Windows fail there")
    return Nodes(
        vm_name=vm_name,
        vm=vm,
        slots=slots,
        image=image.name,
        image_reference=image.reference,
        agent=image.agent,
        os="windows" if windows else "linux",
        reasons=tuple(reasons),
    )


@dataclass(frozen=True)
class _Resolved:
    name: str
    reference: dict[str, Any] = field(repr=False)
    agent: str
    known: Image | None


def _resolve_image(spec: ImageSpec, facts: AccountFacts, notes: Notes, *, docker: bool) -> _Resolved:
    """A named image with its agent, checked against the catalog where that knows it."""
    if spec.image_id:
        if facts.is_local:
            return _stand_in(spec, docker=docker)
        reference = {"virtualMachineImageId": spec.image_id}
        return _Resolved(spec.image_id, reference, spec.node_agent or "", None)
    publisher, offer, sku = spec.publisher or "", spec.offer or "", spec.sku or ""
    known = find_image(publisher, offer, sku)
    reference = {"publisher": publisher, "offer": offer, "sku": sku, "version": spec.version}
    name = f"{publisher} {offer} {sku}"
    agent = spec.node_agent or (known.agent if known else None)
    if agent is None:
        raise SpecError(
            f"the image {name!r} is not in the catalog, so its node agent is not known",
            field="pool.image.node_agent",
            hint="give node_agent, such as 'batch.node.ubuntu 24.04', or choose "
            + _alternatives(docker=docker),
        )
    if known is None:
        if docker:
            notes.add(
                f"the image {name!r} is not in the catalog: whether it can host containers is not checked"
            )
        return _Resolved(name, reference, agent, None)
    _check_image(known, agent, facts, notes, docker=docker)
    return _Resolved(name, reference, agent, known)


def _stand_in(spec: ImageSpec, *, docker: bool) -> _Resolved:
    """A marketplace image with the agent of an image by id, which the local service has not.

    It is not looked at: neither its generation nor its architecture need be those of the image.
    """
    agent = (spec.node_agent or "").lower()
    fitting = [image for image in images() if image.agent.lower() == agent and (image.docker or not docker)]
    if not fitting:
        raise SpecError(
            f"the local service has no image with the node agent {spec.node_agent!r}"
            + (" that can host containers" if docker else ""),
            field="pool.image.node_agent",
            hint="choose " + _alternatives(docker=docker),
        )
    found = fitting[0]
    return _Resolved(str(spec.image_id), _reference(found), found.agent, None)


def _reference(image: Image) -> dict[str, Any]:
    return {"publisher": image.publisher, "offer": image.offer, "sku": image.sku, "version": "latest"}


def _check_image(image: Image, agent: str, facts: AccountFacts, notes: Notes, *, docker: bool) -> None:
    if agent.lower() != image.agent.lower():
        raise SpecError(
            f"the image {image.name!r} needs the node agent {image.agent!r}, not {agent!r}",
            field="pool.image.node_agent",
        )
    if docker and not image.docker:
        raise SpecError(
            f"the image {image.name!r} cannot host containers",
            field="pool.image",
            hint="choose " + _alternatives(docker=True),
        )
    end = image.end_of_support
    if end is None:
        return
    if end <= facts.now.date():
        raise SpecError(
            f"Batch ended its support of the image {image.name!r} on {end}: no pool can be made of it",
            field="pool.image",
            hint="choose " + _alternatives(docker=docker),
        )
    if end - facts.now.date() < _NOTICE:
        notes.add(f"Batch ends its support of the image {image.name!r} on {end}")


def _alternatives(*, docker: bool) -> str:
    found = default_image(docker=docker)
    return repr(found.name) if found else "another image"


def _named_size(name: str, notes: Notes) -> tuple[VmSize | None, str]:
    vm = find_vm_size(name)
    if vm is None:
        near = nearest_vm_sizes(name)
        meant = f" (did you mean {', '.join(near)}?)" if near else ""
        notes.add(f"the catalog does not know the VM size {name!r}{meant}: whether tasks fit is not checked")
        return None, name
    warning = caveat(vm)
    if warning:
        notes.add(warning)
    return vm, vm.name


def _chosen_size(needs: Needs, named: _Resolved | None, facts: AccountFacts, *, docker: bool) -> Choice:
    image = named.known if named else None
    if image is not None:
        return choose(
            needs,
            region=facts.known_region,
            generations=(image.generation,),
            architecture=image.architecture,
        )
    candidates = default_images(docker=docker, nvidia=needs.gpus > 0)
    generations = (1, 2) if named else tuple(image.generation for image in candidates)
    return choose(needs, region=facts.known_region, generations=generations)


def _default(vm: VmSize | None, vm_name: str, *, docker: bool) -> _Resolved:
    image = default_image(
        docker=docker,
        nvidia=vm is not None and vm.gpus > 0 and not vm.has_amd_gpu,
        architecture=vm.architecture if vm else "x64",
        generations=vm.generations if vm else (),
    )
    if image is None:
        raise SpecError(
            f"the catalog has no image for {_purpose(vm, docker=docker)} on {vm_name}",
            field="pool.image",
            hint="name pool.image, or another pool.vm_size",
        )
    return _Resolved(image.name, _reference(image), image.agent, image)


def _purpose(vm: VmSize | None, *, docker: bool) -> str:
    parts = ["containers"] if docker else []
    parts += [f"a {vm.gpu_model} GPU"] if vm is not None and vm.gpus else []
    return " and ".join(parts) or "plain tasks"


def _check_fit(image: Image, vm: VmSize) -> None:
    if image.architecture != vm.architecture:
        raise SpecError(
            f"the image {image.name!r} is for {image.architecture}, but {vm.name} is {vm.architecture}",
            field="pool.image",
        )
    if not vm.boots(image.generation):
        only = " or ".join(str(generation) for generation in vm.generations)
        raise SpecError(
            f"the image {image.name!r} is of generation {image.generation}, but {vm.name} boots {only}",
            field="pool.image",
            hint="choose the image's other generation (sku), or another pool.vm_size",
        )


def _slots(asked: int | None, vm: VmSize | None, vm_name: str) -> int:
    if asked is None:
        return vm.default_slots if vm else 1
    if vm is not None and asked > vm.max_slots:
        raise SpecError(
            f"{asked} task slots on {vm_name}: at most {vm.max_slots} (four for each core, 256 in all)",
            field="pool.task_slots_per_node",
        )
    return asked


def _explain(choice: Choice) -> list[str]:
    reasons = [choice.reason]
    if choice.counts:
        reasons.append("not taken: " + ", ".join(f"{count} {kind}" for kind, count in choice.counts))
    reasons += [f"not {name}: {why}" for name, why in choice.near]
    return reasons
