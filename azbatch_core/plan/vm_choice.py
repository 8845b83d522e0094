"""Choosing a VM size: the cheapest that holds the biggest task, and why every other one was not taken."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from azbatch_core.catalog.vm_sizes import ANNOUNCED, REFERENCE_REGION, VmSize, gpu_models, vm_sizes
from azbatch_core.errors import SpecError
from azbatch_core.specs import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date

    from azbatch_core.catalog.vm_sizes import Architecture

GIB = 1024**3
NEAR_MISSES = 3
_NEAR = 1.5  # a size that has two thirds of what is needed is a near miss
_EPSILON = 1e-9  # float noise: 0.1 + 0.2 CPUs are not more than 0.3


@dataclass(frozen=True)
class Needs:
    """What one task needs of a node.

    Attributes:
        cpus: vCPUs, fractions allowed.
        memory: Bytes.
        disk: Bytes of local disk.
        gpus: Whole GPUs.
        gpu_model: Such as ``A100``; matches every variant of the model. None takes any NVIDIA model.
    """

    cpus: float = 0
    memory: int = 0
    disk: int = 0
    gpus: int = 0
    gpu_model: str | None = None

    def __str__(self) -> str:
        parts = [_count_of(self.cpus, "vCPU")] if self.cpus else []
        parts += [f"{format_size(self.memory)} memory"] if self.memory else []
        parts += [f"{format_size(self.disk)} disk"] if self.disk else []
        parts += [_count_of(self.gpus, f"{self.gpu_model or ''} GPU".strip())] if self.gpus else []
        return ", ".join(parts) or "no resources"


@dataclass(frozen=True)
class Choice:
    """A chosen VM size.

    Attributes:
        size: The one.
        reason: Why it.
        rejected: Why not, for every other size in the table.
        counts: How many sizes each kind of reason took out, the most frequent first.
        near: The sizes that came closest, each with its reason: cheaper ones that lack little of one thing,
            then the next ones that fit.
        caveat: What a user should know of the chosen one (not verified, retiring); None where nothing.
    """

    size: VmSize
    reason: str
    rejected: Mapping[str, str]
    counts: tuple[tuple[str, int], ...]
    near: tuple[tuple[str, str], ...]
    caveat: str | None


class _Rejection(NamedTuple):
    kind: str  # for counting
    text: str
    short: float = math.inf  # how many times more is needed than there is; no limit where nothing helps


def biggest(needs: Iterable[Needs]) -> Needs:
    """What a node needs to hold each of the tasks (one at a time).

    Raises:
        SpecError: Tasks that share a pool ask for different GPU models.
    """
    result = Needs()
    for need in needs:
        models = {model for model in (result.gpu_model, need.gpu_model) if model}
        if len({_plain(model) for model in models}) > 1:
            names = " and ".join(sorted(models))
            raise SpecError(
                f"tasks of one job ask for the GPU models {names}: a pool has nodes of one VM size",
                field="resources.gpu_model",
                hint="put them in separate jobs",
            )
        result = Needs(
            cpus=max(result.cpus, need.cpus),
            memory=max(result.memory, need.memory),
            disk=max(result.disk, need.disk),
            gpus=max(result.gpus, need.gpus),
            gpu_model=result.gpu_model or need.gpu_model,
        )
    return result


def slots_needed(needs: Needs, size: VmSize, slots: int) -> int:
    """How many of a node's task slots a task takes: its largest share of any one resource, rounded up.

    Raises:
        SpecError: The task does not fit on a node of this size.
    """
    shares = [
        ("vCPU", needs.cpus, float(size.vcpus)),
        ("memory", needs.memory / GIB, size.memory_gib),
        ("local disk", needs.disk / GIB, size.disk_gib),
        ("GPU", float(needs.gpus), float(size.gpus)),
    ]
    if needs.gpus and needs.gpu_model and not _is_model(size.gpu_model, needs.gpu_model):
        raise SpecError(
            f"needs a GPU of model {needs.gpu_model}, but {size.name} has {size.gpu_model or 'no GPU'}",
            field="resources.gpu_model",
            hint="name another gpu_model, or a pool with another vm_size",
        )
    share = 0.0
    for what, wanted, present in shares:
        if not wanted:
            continue
        if present is None or wanted > present + _EPSILON:
            counted = what.endswith("PU")
            needed = _count_of(wanted, what) if counted else f"{format_size(round(wanted * GIB))} {what}"
            has = _plain_number(present) if counted and present is not None else _gib(present)
            raise SpecError(
                f"needs {needed}, but a node of size {size.name} has {has}",
                field="resources",
                hint="ask for less, or for a pool with a larger vm_size",
            )
        share = max(share, wanted / present)
    return max(1, math.ceil(share * slots - _EPSILON))


def choose(
    needs: Needs,
    *,
    region: str | None = None,
    generations: tuple[int, ...] = (1, 2),
    architecture: Architecture = "x64",
    today: date | None = None,
) -> Choice:
    """Choose the cheapest VM size that holds the needs.

    A size whose retirement is past is never taken. Sizes that Batch was seen to allocate and that are not
    about to retire come first; others are taken, with a caveat, only where none of those fits. Prices are
    the region's, or the reference region's where it is unknown or has none; sizes without a price come
    last. At one price the larger and newer size wins.

    Args:
        needs: What the biggest task needs.
        region: The account's region, such as ``westeurope``.
        generations: The hypervisor generations that there is an image for.
        architecture: ``x64`` or ``arm64``.
        today: The day that retirements are measured by; None is this day (UTC).

    Raises:
        SpecError: No size fits; the message counts the reasons.
    """
    _check_model(needs.gpu_model)
    prices_of = region if any(size.price(region) is not None for size in vm_sizes()) else REFERENCE_REGION
    today = today or _today()
    rules = _rules(needs, generations, architecture, today)
    rejections: dict[str, _Rejection] = {}
    fitting: list[VmSize] = []
    misses: list[VmSize] = []
    for size in vm_sizes():
        found = [rejection for rule in rules if (rejection := rule(size))]
        if found:
            rejections[size.name] = found[0]
            if len(found) == 1 and found[0].short <= _NEAR:
                misses.append(size)
        else:
            fitting.append(size)
    misses.sort(key=lambda size: (_standing(size), rejections[size.name].short, _rank(size, prices_of)))
    if not fitting:
        counts = ", ".join(f"{count} {kind}" for kind, count in _count(rejections))
        nearest = (
            f"; the nearest is {misses[0].name}, which {rejections[misses[0].name].text}" if misses else ""
        )
        raise SpecError(
            f"no VM size has {needs} ({counts}{nearest})",
            field="resources",
            hint="ask for less per task, or name pool.vm_size",
        )
    fitting.sort(key=lambda size: _rank(size, prices_of))
    best = fitting[0]
    misses = [size for size in misses if _spares(size, best, prices_of)][:NEAR_MISSES]
    equals = sum(_standing(size) == _standing(best) for size in fitting)
    for size in fitting[1:]:
        rejections[size.name] = _runner_up(size, best, prices_of, today)
    return Choice(
        size=best,
        reason=_reason(best, needs, prices_of, equals),
        rejected={name: rejection.text for name, rejection in rejections.items()},
        counts=_count(rejections),
        near=tuple(
            (size.name, rejections[size.name].text) for size in [*misses, *fitting[1 : NEAR_MISSES + 1]]
        ),
        caveat=_caveat(best, today),
    )


def _rules(
    needs: Needs, generations: tuple[int, ...], architecture: Architecture, today: date
) -> list[Callable[[VmSize], _Rejection | None]]:
    """The tests that a size must pass, cheapest to explain first."""

    def right_architecture(size: VmSize) -> _Rejection | None:
        if size.architecture == architecture:
            return None
        return _Rejection(size.architecture, f"is {size.architecture}, not {architecture}")

    def enough(
        kind: str, unit: str, wanted: float, have: Callable[[VmSize], float | None]
    ) -> Callable[[VmSize], _Rejection | None]:
        def rule(size: VmSize) -> _Rejection | None:
            present = have(size)
            if not wanted or (present is not None and wanted <= present + _EPSILON):
                return None
            one = unit.replace("vCPUs", "vCPU")
            has = "an unknown amount of" if present is None else _plain_number(present)
            return _Rejection(
                f"with too little {kind}",
                f"has {has} {one if present == 1 else unit}, {_plain_number(wanted)} needed",
                wanted / present if present else math.inf,
            )

        return rule

    def right_gpu(size: VmSize) -> _Rejection | None:
        return _gpu_rejection(size, needs)

    def bootable(size: VmSize) -> _Rejection | None:
        if any(size.boots(generation) for generation in generations):
            return None
        only = ", ".join(str(generation) for generation in size.generations)
        return _Rejection("of another generation than the image", f"boots generation {only} images only")

    def in_service(size: VmSize) -> _Rejection | None:
        return _Rejection("retired", _retires(size, today)) if size.is_retired(today) else None

    return [
        right_architecture,
        right_gpu,
        enough("CPU", "vCPUs", needs.cpus, lambda size: size.vcpus),
        enough("memory", "GiB of memory", needs.memory / GIB, lambda size: size.memory_gib),
        enough("local disk", "GiB of local disk", needs.disk / GIB, lambda size: size.disk_gib),
        bootable,
        in_service,
    ]


def _gpu_rejection(size: VmSize, needs: Needs) -> _Rejection | None:
    if not needs.gpus:
        return (
            _Rejection("with a GPU that nobody asked for", "has a GPU that nobody asked for")
            if size.gpus
            else None
        )
    if size.gpus < needs.gpus:
        return _Rejection(
            "with too few GPUs",
            f"has {_count_of(size.gpus, 'GPU') if size.gpus else 'no GPUs'}, {needs.gpus} needed",
            needs.gpus / size.gpus if size.gpus else math.inf,
        )
    if size.gpu_fraction:
        return _Rejection("with a share of a GPU", f"has {size.gpu_fraction:g} of a {size.gpu_model}")
    if needs.gpu_model and not _is_model(size.gpu_model, needs.gpu_model):
        return _Rejection("with another GPU model", f"has {size.gpu_model}, not {needs.gpu_model}")
    if not needs.gpu_model and size.has_amd_gpu:
        return _Rejection("with an AMD GPU", f"has an AMD {size.gpu_model}: name the model to get it")
    return None


def _plain_number(value: float) -> str:
    """A number as people write it: 1000000, 0.5; never 1e+06."""
    return str(int(value)) if value == int(value) else f"{value:.4g}"


def _count_of(value: float, what: str) -> str:
    return f"{_plain_number(value)} {what}{'' if value == 1 else 's'}"


def _gib(value: float | None) -> str:
    return "an unknown amount" if value is None else format_size(round(value * GIB)) if value else "none"


def _standing(size: VmSize) -> int:
    """0: Batch was seen to allocate it; 1: that too, but about to retire; 2: not seen; 3: neither."""
    return (0 if size.verified else 2) + (1 if size.retirement else 0)


def _rank(size: VmSize, region: str | None) -> tuple[object, ...]:
    price = size.price(region)
    return (
        _standing(size),
        math.inf if price is None else price,
        -size.vcpus
        if price is not None
        else size.vcpus,  # more for the same price; the least without a price
        -size.memory_gib if price is not None else size.memory_gib,
        not size.disk_gib,  # task directories are faster on a local disk
        -_version(size.name),
        size.name,
    )


def _spares(size: VmSize, best: VmSize, region: str | None) -> bool:
    """Whether asking for a little less would get a size as sure as the best one for less money."""
    mine, theirs = size.price(region), best.price(region)
    return mine is not None and theirs is not None and mine < theirs and _standing(size) <= _standing(best)


def _version(name: str) -> int:
    """The ``v5`` of ``Standard_D2_v5``; 1 without one."""
    number = name.rpartition("_v")[2]
    return int(number) if number.isdecimal() else 1


def _runner_up(size: VmSize, best: VmSize, region: str | None, today: date) -> _Rejection:
    if best.verified and not size.verified:
        return _Rejection("not seen to work with Batch", "fits, but was not seen to work with Batch")
    if size.retirement and not best.retirement:
        return _Rejection("about to retire", f"fits, but {_retires(size, today)}")
    mine, theirs = size.price(region), best.price(region)
    if mine is None:
        return _Rejection("without a known price", "fits, but its price is not known")
    if theirs is not None and mine > theirs:
        return _Rejection("dearer", f"fits, but costs ${mine:.4g} an hour instead of ${theirs:.4g}")
    return _Rejection("no cheaper", f"fits at the same price, but {best.name} is larger or newer")


def _reason(best: VmSize, needs: Needs, region: str | None, fitting: int) -> str:
    price = best.price(region)
    cost = f"${price:.4g} an hour in {region}" if price is not None else "no price known"
    one_of = f"the cheapest of {fitting} sizes" if fitting > 1 else "the only size"
    asked = f" for {needs}" if needs != Needs() else ""
    return f"{best.name}: {one_of}{asked} ({_count_of(best.vcpus, 'vCPU')}, {best.memory_gib:g} GiB, {cost})"


def _today() -> date:
    return datetime.now(timezone.utc).date()


def _retires(size: VmSize, today: date) -> str:
    if size.retirement == ANNOUNCED:
        return "is announced to retire"
    return f"{'was retired' if size.is_retired(today) else 'retires'} on {size.retirement}"


def _caveat(size: VmSize, today: date) -> str | None:
    if size.retirement:
        return f"VM size {size.name} {_retires(size, today)}"
    return None if size.verified else f"VM size {size.name} was not seen to work with Batch"


def caveat(size: VmSize) -> str | None:
    """What a user who named this size should know; None where nothing."""
    return _caveat(size, _today()) if size.retirement else None


def _count(rejections: Mapping[str, _Rejection]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(rejection.kind for rejection in rejections.values()).most_common())


def _plain(model: str) -> str:
    """A GPU model in the shape that is compared: ``NVIDIA Tesla-V100`` -> ``v100``."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\b(nvidia|amd|tesla|instinct|radeon)\b", "", model.lower()))


def _is_model(present: str | None, wanted: str) -> bool:
    """Whether a size's model is the wanted one or a variant of it (``A100-80GB`` is an ``A100``)."""
    if present is None:
        return False
    return _plain(present) == _plain(wanted) or _plain(present.split("-")[0]) == _plain(wanted)


def _check_model(model: str | None) -> None:
    if model is None or any(_is_model(known, model) for known in gpu_models()):
        return
    known = gpu_models()
    near = difflib.get_close_matches(_plain(model).upper(), known, n=1)
    suggestion = f"did you mean {near[0]}?" if near else "known models: " + ", ".join(known)
    raise SpecError(f"no VM size has the GPU model {model!r}", field="resources.gpu_model", hint=suggestion)
