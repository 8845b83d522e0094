"""What differs between TorchX 0.7 and the nightly line, told apart by features, never by version numbers."""

from __future__ import annotations

import dataclasses
import logging
import re
import sys
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, TypeVar

from torchx import specs
from torchx.runner import config
from torchx.util.types import to_dict
from torchx.version import __version__ as torchx_version

from azbatch_core.errors import SpecError
from azbatch_torchx import options

if TYPE_CHECKING:
    from collections.abc import Mapping

BACKEND: Final = "azure_batch"
_PROGRAM: Final = "torchx.cli.main"
LOG = logging.getLogger("azbatch")
T = TypeVar("T")
_WORDS: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
"""What is true and false in ``-cfg``: the nightly line's words, which are those of .torchxconfig on both."""


def make(cls: type[T], **values: Any) -> T:
    """An object of a TorchX dataclass, without the fields that this line does not have."""
    known = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]  # all of them are dataclasses
    return cls(**{name: value for name, value in values.items() if name in known})


def replaced(role: Any, **macros: str) -> Any:
    """A copy of a role with TorchX's macros replaced; do it once, or ``$$`` becomes nothing."""
    values = make(specs.macros.Values, img_root="", **macros)
    return values.apply(role)


def is_command() -> bool:
    """Whether this process is the command `torchx`, as a script or by ``python -m``."""
    started = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PROGRAM in sys.modules or getattr(started, "name", None) == _PROGRAM


def refusal(text: str) -> Exception:
    """What to raise where something cannot be run: TorchX's own kind, for programs.

    The command `torchx` puts three lines about options around that kind: there it is ours, with which
    `command_line` ends the command.
    """
    return SpecError(text) if is_command() else Refused(text)


class Refused(specs.InvalidRunConfigException):
    """TorchX's error for what cannot be run. Its text is one line.

    TorchX 0.7 shows the name of a run option in place of the text: so that is the text, too.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, text, {})
        self.args = (text,)


class RunOpts(specs.runopts):
    """TorchX's options, of which none that somebody wrote gets lost or is something else.

    What a number or a truth is read from is judged here, whoever reads it: TorchX's own errors for ``-cfg``
    and .torchxconfig are tracebacks on its command line.
    """

    def get(self, name: str) -> Any:
        """An option as those who read a text need it: `resolve` makes numbers and truths of texts."""
        option = super().get(name)
        if option is None or option.opt_type not in {int, bool}:
            return option
        return dataclasses.replace(option, opt_type=str)

    def cfg_from_str(self, cfg_str: str) -> dict[str, Any]:
        """The options in a text; names that are not known come alone, to be refused when the app is planned.

        TorchX 0.7 drops them, and takes any word but true for false.

        Raises:
            Refused: It is no list of options, or a value is of another type than its option; in the command
            `torchx` a SpecError.
        """
        try:
            given = to_dict(cfg_str)
        except ValueError:
            # The text is not repeated: it may hold a password, which `options` would refuse without it.
            raise refusal("-cfg is not of the form name=value,name=value; a value cannot hold =") from None
        if unknown := {name: value for name, value in given.items() if self.get(name) is None}:
            return unknown
        typed = self._typed(given)
        return {**super().cfg_from_str(cfg_str), **{n: v for n, v in typed.items() if not isinstance(v, str)}}

    def resolve(self, cfg: Mapping[str, Any], **how: Any) -> dict[str, Any]:
        """All options, those that are not given by their defaults.

        Raises:
            Refused: There is no option of a name, or a text is of another type than its option; in the
                command `torchx` a SpecError.
        """
        if not how.get("ignore_unknown"):
            try:
                unknown = [name for name in cfg if self.get(name) is None]
                options.refuse_unknown(dict.fromkeys(unknown), [name for name, _ in self])
            except SpecError as error:
                raise refusal(str(error)) from None
        resolved: dict[str, Any] = super().resolve(self._typed(cfg), **how)
        return resolved

    def _typed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The same, with numbers and truths in place of their texts."""
        options = {name: super(RunOpts, self).get(name) for name in given}
        return {
            name: _typed(name, value, options[name].opt_type)
            if isinstance(value, str) and options[name] is not None
            else value
            for name, value in given.items()
        }


def _typed(name: str, text: str, wanted: Any) -> Any:
    """A text by its option's type, where it can be wrong for it."""
    if wanted is int:
        if not re.fullmatch(r"[+-]?\d+", text.strip()):
            raise refusal(f"{name}={text} is no whole number")
        return int(text)
    if wanted is bool:
        if text.strip().lower() not in _WORDS:
            raise refusal(f"{name}={text} is neither true nor false")
        return _WORDS[text.strip().lower()]
    return text


@lru_cache(maxsize=256)
def complain(text: str) -> None:
    """Log an error, once: TorchX 0.7 asks again every second for an app that is not there."""
    LOG.error("%s", text)


def configured(name: str) -> dict[str, Any]:
    """What .torchxconfig says of a scheduler, for the calls that TorchX makes without a configuration."""
    found: dict[str, Any] = {}
    config.apply(scheduler=name, cfg=found)
    return found


def version() -> str:
    """TorchX's version."""
    return str(torchx_version)


def quieten_sdk() -> None:
    """Keep the SDK from logging each request: TorchX's command line logs everything from INFO on.

    And each way to log in that is not set up: the error says whether there is one. A level that somebody set
    stays.
    """
    for name, level in (("azure", logging.WARNING), ("azure.identity", logging.ERROR)):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(level)


@lru_cache(maxsize=1)
def warn_of_two_lines() -> None:
    """Say so when both lines are installed: they share one folder, and what is in it is a mix."""
    present = [name for name in ("torchx", "torchx-nightly") if list(metadata.distributions(name=name))]
    if len(present) > 1:
        LOG.warning(
            "%s are installed in one place and overwrite each other: uninstall both, then install one"
            " (with torchx-nightly, install azbatch without the extra [torchx])",
            " and ".join(present),
        )
