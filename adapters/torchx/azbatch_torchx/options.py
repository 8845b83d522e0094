"""The run options: what `torchx runopts azure_batch` lists and `-cfg` and .torchxconfig set.

None is a secret: TorchX prints options, and keeps them. Only types that both TorchX lines parse are used.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, List  # TorchX 0.7 does not parse list[str]

from azbatch_core.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

REGISTRY_PASSWORD: Final = "AZBATCH_REGISTRY_PASSWORD"  # noqa: S105  # the name of a variable
NO_LIMIT: Final = "none"


@dataclass(frozen=True)
class RunOptions:
    """The options of one run, each with its default and its help.

    Raises:
        SpecError: There is a password in one; the text does not hold it.
    """

    account: str | None = field(
        default=None,
        metadata={
            "help": "The account to run on: a name from `azbatch accounts`, such as local."
            " Left out: $AZBATCH_ACCOUNT, else azbatch's default account."
        },
    )
    pool: str | None = field(
        default=None,
        metadata={
            "help": "The id of a pool that exists."
            " Left out: one that fits the roles' resources is made, kept and reused."
        },
    )
    vm_size: str | None = field(
        default=None,
        metadata={"help": "The VM size of a pool that is made, such as Standard_D4s_v5. Left out: chosen."},
    )
    spot: bool = field(
        default=False, metadata={"help": "Make the pool of Spot nodes: cheaper, and may be taken away."}
    )
    max_nodes: int | None = field(
        default=None,
        metadata={
            "help": "The most nodes that a pool that is made grows to; idle it has none."
            " Left out: 4, or what it has already."
        },
    )
    identity: str | None = field(
        default=None,
        metadata={
            "help": "The resource id of the user-assigned identity that the pool's nodes have;"
            " it also pulls from `registry` where no user is given."
        },
    )
    containers: bool = field(
        default=True,
        metadata={
            "help": "Run each role in its image. false: on the node itself, whatever the image."
            " On the account local without Docker commands run on this machine either way."
        },
    )
    registry: str | None = field(
        default=None,
        metadata={
            "help": "The private registry of the images: HOST, read with `identity`, or USER@HOST with the"
            f" password in ${REGISTRY_PASSWORD} where the run is submitted."
        },
    )
    workspace: str = field(
        default="auto",
        metadata={
            "help": "How the workspace (--workspace, the current directory) comes to the nodes."
            " archive: packed, kept in the account's storage, unpacked where the command starts."
            " image: by Docker, in an image on top of the role's, pushed to image_repo. none: not at all."
            " auto: image where image_repo is given and Docker runs, else archive, unless it is large."
        },
    )
    image_repo: str | None = field(
        default=None,
        metadata={"help": "Where an image with your workspace in it is pushed to; nothing is built without."},
    )
    mounts: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "More mounts of all containers, besides the roles' own: SRC:DST or SRC:DST:ro, where SRC"
            " is a path on the node or the name of a mount of the pool (Azure Files, blobs)."
        },
    )
    priority: int = field(
        default=0, metadata={"help": "Apps with a higher one go first on a shared pool; -1000 to 1000."}
    )
    wall_time: str = field(
        default="7d",
        metadata={"help": f"The longest that the app may live, such as 90m or 2d; {NO_LIMIT}: no limit."},
    )
    keep_logs: bool = field(
        default=True,
        metadata={
            "help": "Keep what the app writes in the account's storage, too, once it has ended:"
            " nodes go, and their files with them."
        },
    )
    retention: str | None = field(
        default=None,
        metadata={"help": "How long files stay on a node after a task, such as 12h. Left out: 7 days."},
    )

    def __post_init__(self) -> None:
        user, _, _ = (self.registry or "").rpartition("@")
        if ":" in user:
            raise SpecError(
                f"registry holds a password: write USER@HOST, and the password in ${REGISTRY_PASSWORD}",
                field="registry",
            )


_TYPES: Final[Mapping[str, Any]] = {
    "bool": bool,
    "int": int,
    "int | None": int,
    "str": str,
    "str | None": str,
    "tuple[str, ...]": List[str],  # TorchX 0.7 does not parse list[str]
}


def add_to(runopts: Any) -> Any:
    """TorchX's `runopts` with ours added."""
    for option in fields(RunOptions):
        runopts.add(
            option.name,
            type_=_TYPES[str(option.type)],
            default=list(option.default) if isinstance(option.default, tuple) else option.default,
            help=option.metadata["help"],
        )
    return runopts


def read(cfg: Mapping[str, Any]) -> RunOptions:
    """The options of a run, from TorchX's resolved configuration. Names that are not ours are left alone."""
    known = {option.name for option in fields(RunOptions)}
    given = {name: value for name, value in cfg.items() if name in known and value is not None}
    chosen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    return RunOptions(**chosen)


def refuse_unknown(cfg: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a name that means nothing: TorchX 0.7 hands over any, and the run would not be what was meant.

    Raises:
        SpecError: There is one.
    """
    for name in cfg:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`torchx runopts azure_batch` lists them"
            raise SpecError(f"there is no run option {name!r}", hint=hint)


def account_of(cfg: Mapping[str, Any] | None) -> str | None:
    """The account that is asked for; None leaves it to azbatch's own configuration."""
    asked = (cfg or {}).get("account")
    return str(asked) if asked else os.environ.get("AZBATCH_ACCOUNT") or None
