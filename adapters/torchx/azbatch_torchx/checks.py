"""What of an app can be refused before anything of it is mapped. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from azbatch_core import SpecError
from azbatch_core.specs.command import MAX_STRING
from azbatch_torchx import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_torchx.roles import AppLike, RoleLike

_NOT_GIVEN: Final = -1  # TorchX's null resource
_LONG: Final = "Linux takes less than 128 KiB (execve(2), MAX_ARG_STRLEN) and will not start the command"
_TO_A_FILE: Final = "put it into a file of the workspace"


def check(app: AppLike, roles: Sequence[RoleLike]) -> None:
    """Refuse an app whose names, or whose roles' texts, cannot be.

    Raises:
        SpecError: It cannot.
    """
    if not roles:
        raise SpecError("the app has no role: there is nothing to run", field="roles")
    if not app.name.strip():
        raise SpecError("the app has no name", field="name", hint="give one")
    if name := stamp.taken(app.metadata):
        raise SpecError(f"the app's metadata {name!r} has a name that azbatch itself uses", field="metadata")
    names = [role.name for role in roles]
    for name in names:
        if not name.strip():
            raise SpecError(
                "a role has no name: logs and status are told by it", field="name", hint="give one"
            )
        if "/" in name:
            raise SpecError(
                f"the role {name!r} has a slash in its name: `torchx log APP/ROLE/REPLICA` could not name it",
                field="name",
                hint=f"call it {name.replace('/', '-')!r}",
            )
        if names.count(name) > 1:
            raise SpecError(f"two roles are called {name!r}: logs and status could not tell them apart")


def check_role(role: RoleLike) -> None:
    """Refuse a role with nothing to run, with amounts that are none, or with what no command can be given.

    Raises:
        SpecError: It is such a one.
    """
    _check_texts(role)
    if not role.entrypoint.strip():
        raise SpecError("has no entrypoint: there is nothing to run", field="entrypoint")
    if role.max_retries < 0:
        raise SpecError(
            f"max_retries={role.max_retries} is less than none", field="max_retries", hint="use 0"
        )
    amounts = {"cpu": role.resource.cpu, "memMB": role.resource.memMB, "gpu": role.resource.gpu}
    for name, amount in amounts.items():
        if amount < _NOT_GIVEN or (amount == 0 and name != "gpu"):
            raise SpecError(
                f"{name}={amount} is no amount of it", field="resource", hint="ask for more, or -1: not given"
            )


def check_replicas(role: RoleLike, notes: list[str]) -> None:
    """Refuse numbers of replicas that cannot be; note what is not as asked.

    Raises:
        SpecError: They cannot.
    """
    if role.num_replicas < 1:
        raise SpecError(f"has {role.num_replicas} replicas: at least one must run", field="num_replicas")
    if role.min_replicas is not None and role.min_replicas > role.num_replicas:
        raise SpecError(
            f"min_replicas is {role.min_replicas}, which is more than its {role.num_replicas} replicas",
            field="min_replicas",
        )
    if role.min_replicas is not None and role.min_replicas < role.num_replicas:
        notes.append(
            f"role {role.name!r}: min_replicas is {role.min_replicas}, and Batch starts all or none:"
            f" it runs at {role.num_replicas}"
        )


def check_types(role: Any) -> None:
    """Refuse what is no text where TorchX replaces macros. Values are not shown: they may be secrets.

    Raises:
        SpecError: The entrypoint, an argument, or a variable's name or value is none.
    """
    texts = {"entrypoint": role.entrypoint}
    texts |= {f"args[{place}]": word for place, word in enumerate(role.args)}
    texts |= {f"the name of the variable {name!r}": name for name in role.env}
    texts |= {f"the variable {name!r}": value for name, value in role.env.items()}
    for what, text in texts.items():
        if not isinstance(text, str):
            raise SpecError(
                f"role {role.name!r}: {what} must be text, not {type(text).__name__}",
                hint="str(…) makes it one",
            )


def _check_texts(role: RoleLike) -> None:
    """Refuse a text that is too long for one process, and for a gang's script, which holds all arguments."""
    words = [role.entrypoint, *role.args]
    texts = {f"argument {place}" if place else "the entrypoint": word for place, word in enumerate(words)}
    texts |= {f"the variable {name}": f"{name}={value}" for name, value in role.env.items()}
    if role.num_replicas > 1:
        texts["all that its command says"] = "\0\0\0".join(words)
    for what, text in texts.items():
        size = len(text.encode("utf-8", "surrogatepass"))
        if size >= MAX_STRING:
            raise SpecError(f"{what} has {size:,} bytes: {_LONG}", hint=_TO_A_FILE)
