"""Which account: profiles in a file, the variables that users of Azure Batch have set already, and ``local``.

The file is ``$AZBATCH_CONFIG``, else ``~/.config/azbatch/config.toml``:

    default = "prod"

    [accounts.prod]
    endpoint = "https://mybatch.westeurope.batch.azure.com"
    credential = "cli"

The variables are those of the Azure CLI: ``AZURE_BATCH_ENDPOINT``, ``AZURE_BATCH_ACCOUNT`` and
``AZURE_BATCH_ACCESS_KEY`` (without the last, azure-identity's default chain); ``AZURE_STORAGE_ACCOUNT`` and
``AZURE_STORAGE_KEY`` add the storage. With an endpoint set they are an account of their own, called by
``AZURE_BATCH_ACCOUNT`` or by ``env``.

Where no name is given: the variables if they are set, else the file's ``default``, else ``local``. A profile
that is named is taken as it is written; variables never change a part of it (a key for one account must not
reach another).
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azbatch_core.catalog.clouds import CLOUDS, cloud_of_account, cloud_of_authority
from azbatch_core.errors import ConfigurationError, ServiceUnavailable, SpecError
from azbatch_core.service.accounts.toml_lines import line_of, parts_of
from azbatch_core.service.connect.local import LOCAL, local_account

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.catalog.clouds import CloudName
    from azbatch_core.specs import AccountSpec
    from azbatch_core.specs.accounts import CredentialKind

__all__ = ["ENV", "AccountEntry", "config_path", "list_accounts", "load_account"]

LOG = logging.getLogger("azbatch")

ENV = "env"
_TOP = ("default", "accounts")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SECRET_FIELDS = ("account_key", "client_secret")


@dataclass(frozen=True)
class AccountEntry:
    """One account that can be named.

    Attributes:
        name: What to call it by.
        source: Where it is defined: the path of the file, ``environment`` or ``built in``.
        endpoint: Its URL; None for a local service that is not running.
        credential: The kind of credential.
        is_default: Whether it is taken when no name is given.
    """

    name: str
    source: str
    endpoint: str | None
    credential: CredentialKind
    is_default: bool


def config_path() -> Path:
    """Where the profiles are; the file need not exist."""
    chosen = os.environ.get("AZBATCH_CONFIG")
    return Path(chosen).expanduser() if chosen else Path.home() / ".config" / "azbatch" / "config.toml"


def load_account(name: str | None = None) -> AccountSpec:
    """The account of a name; the default one without.

    Naming ``local`` starts the local service if it is not running.

    Raises:
        ConfigurationError: No such account (the known ones are listed); the file is wrong (with the line);
            the variables are incomplete.
    """
    config = _Config.read(config_path())
    chosen = name or _default(config)
    if chosen == LOCAL:
        return local_account()
    environment = _from_environment()
    if environment is not None and chosen == ENV:
        return environment
    if chosen in config.profiles:
        return config.account(chosen)
    if environment is not None and chosen == environment.name:
        return environment
    known = sorted({*config.profiles, LOCAL, *([environment.name] if environment else [])})
    if chosen == ENV:
        raise ConfigurationError(
            "the account 'env' is made of variables, and AZURE_BATCH_ENDPOINT is not set"
        )
    near = difflib.get_close_matches(chosen, known, n=1)
    raise ConfigurationError(
        f"there is no account {chosen!r}; known: {', '.join(known)}",
        hint=f"did you mean {near[0]!r}?" if near else f"add [accounts.{chosen}] to {_shown(config.path)}",
    )


def _shown(path: Path) -> str:
    return str(path) if path.exists() else f"{path}, which does not exist yet"


def list_accounts() -> tuple[AccountEntry, ...]:
    """Every account that can be named, by name. Starts nothing, and asks no service.

    Raises:
        ConfigurationError: The file is wrong, or the variables are incomplete.
    """
    config = _Config.read(config_path())
    default = _default(config)
    found = {LOCAL: ("built in", _local_or_none())}
    environment = _from_environment()
    if environment is not None:
        found[environment.name] = ("environment", environment)
    for name in config.profiles:
        found[name] = (str(config.path), config.account(name))
    return tuple(
        AccountEntry(
            name=name,
            source=source,
            endpoint=account.endpoint if account else None,
            credential=account.credential if account else "shared_key",
            is_default=name == default or (default == ENV and source == "environment"),
        )
        for name, (source, account) in sorted(found.items())
    )


def _local_or_none() -> AccountSpec | None:
    try:
        return local_account(start=False)
    except ServiceUnavailable:
        return None


def _default(config: _Config) -> str:
    if os.environ.get("AZURE_BATCH_ENDPOINT"):
        return ENV
    if config.default is not None:
        return config.default
    if os.environ.get("AZURE_BATCH_ACCOUNT") and os.environ.get("AZURE_BATCH_ACCESS_KEY"):
        # Falling back to `local` here would run the work somewhere else than meant.
        raise ConfigurationError(
            "AZURE_BATCH_ACCOUNT and AZURE_BATCH_ACCESS_KEY are set, but AZURE_BATCH_ENDPOINT is not",
            hint="export AZURE_BATCH_ENDPOINT=https://<account>.<region>.batch.azure.com, or ask for local",
        )
    return LOCAL


def _from_environment() -> AccountSpec | None:
    """The account that the variables define; None without an endpoint."""
    endpoint = os.environ.get("AZURE_BATCH_ENDPOINT")
    if not endpoint:
        return None
    from azbatch_core.specs import AccountSpec

    account_name = os.environ.get("AZURE_BATCH_ACCOUNT") or None
    cloud = _cloud(endpoint, os.environ.get("AZURE_AUTHORITY_HOST", ""))
    settings: dict[str, Any] = {"endpoint": endpoint, "account_name": account_name, "cloud": cloud}
    if os.environ.get("AZURE_BATCH_ACCESS_KEY"):
        settings["account_key"] = "env:AZURE_BATCH_ACCESS_KEY"
    if os.environ.get("AZURE_STORAGE_ACCOUNT"):
        settings["storage"] = _storage_from_environment(cloud)
    try:
        account = AccountSpec(name=ENV, **settings)
        # A handle that holds the account's own name means the same on another machine.
        name = account.batch_account
        return account if name == LOCAL else account.replace(name=name)
    except SpecError as error:
        raise ConfigurationError(
            f"AZURE_BATCH_* in the environment: {error.message}", hint=error.hint
        ) from None


def _storage_from_environment(cloud: CloudName) -> dict[str, str]:
    account = os.environ["AZURE_STORAGE_ACCOUNT"]
    storage = {
        "blob_endpoint": f"https://{account}.{CLOUDS[cloud].blob}",
        "account_name": account,
    }
    if os.environ.get("AZURE_STORAGE_KEY"):
        storage["account_key"] = "env:AZURE_STORAGE_KEY"
    return storage


def _cloud(endpoint: str, authority: str) -> CloudName:
    """The cloud of an endpoint's host, else the one that azure-identity's own variable points at."""
    host = endpoint.strip("'\"/ ").lower()
    login = authority.removeprefix("https://").strip("/")
    return cloud_of_account(host) or cloud_of_authority(login) or "public"


class _Config:
    """The file of profiles, read once; an account is checked when it is asked for."""

    def __init__(self, path: Path, text: str, document: Mapping[str, Any]) -> None:
        self.path = path
        self._text = text
        for key in document:
            if key not in _TOP:
                near = difflib.get_close_matches(key, _TOP, n=1)
                raise self._wrong(
                    f"unknown key {key!r}",
                    line_of(text, key),
                    f"did you mean {near[0]!r}?" if near else None,
                )
        profiles = document.get("accounts", {})
        if not isinstance(profiles, dict) or not all(isinstance(item, dict) for item in profiles.values()):
            raise self._wrong("accounts must be tables", line_of(text, "accounts"), "write [accounts.NAME]")
        for reserved in (LOCAL, ENV):
            if reserved in profiles:
                raise self._wrong(
                    f"the name {reserved!r} is taken",
                    line_of(text, "accounts", reserved),
                    "choose another name",
                )
        self.profiles: dict[str, dict[str, Any]] = profiles
        default = document.get("default")
        if default is not None and (not isinstance(default, str) or default not in {*profiles, LOCAL}):
            known = ", ".join(sorted({*profiles, LOCAL}))
            raise self._wrong(
                f"default = {default!r} is no account; known: {known}", line_of(text, "default"), None
            )
        self.default: str | None = default

    @classmethod
    def read(cls, path: Path) -> _Config:
        """Read the file; one that does not exist has no profiles.

        Raises:
            ConfigurationError: It cannot be read, or is no TOML, or has keys that mean nothing.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls(path, "", {})
        except (OSError, UnicodeDecodeError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
            raise ConfigurationError(f"{path} cannot be read: {reason}") from None
        if sys.version_info >= (3, 11):  # where there is no file, nobody waits for this import
            import tomllib
        else:
            import tomli as tomllib
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as exc:
            match = re.search(r"line (\d+)", str(exc))
            at = f", line {match[1]}" if match else ""
            message = re.sub(r"\s*\(at .*\)$", "", str(exc))
            raise ConfigurationError(f"{path}{at}: {message}", hint="the file is TOML") from None
        config = cls(path, text, document)
        config._warn_if_open()
        return config

    def account(self, name: str) -> AccountSpec:
        """The account of a profile.

        Raises:
            ConfigurationError: A field is wrong; names file, line and field.
        """
        from azbatch_core.specs import AccountSpec

        fields = self.profiles[name]
        if "name" in fields:
            line = line_of(self._text, "accounts", name, "name")
            raise self._wrong(f"accounts.{name}.name: the name stands in the heading", line, "remove it")
        try:
            return AccountSpec.model_validate({**fields, "name": name})
        except SpecError as error:
            line = line_of(self._text, "accounts", name, *parts_of(error.field or ""))
            # The message of a field begins with the field.
            where = f"accounts.{name}." if error.field else f"accounts.{name}: "
            raise self._wrong(where + error.message, line, error.hint) from None

    def _wrong(self, message: str, line: int | None, hint: str | None) -> ConfigurationError:
        at = f", line {line}" if line else ""
        return ConfigurationError(f"{self.path}{at}: {message}", hint=hint)

    def _warn_if_open(self) -> None:
        literal = any(_holds_literal(fields) for fields in self.profiles.values())
        if literal and self.path.stat().st_mode & _OTHERS:
            LOG.warning(
                "%s holds a key and can be read by others: chmod 600 it, or write account_key = 'env:NAME'",
                self.path,
            )


def _holds_literal(fields: Mapping[str, Any]) -> bool:
    for key, value in fields.items():
        if isinstance(value, dict) and _holds_literal(value):
            return True
        if key in _SECRET_FIELDS and isinstance(value, str) and not value.startswith(("env:", "keyvault:")):
            return True
    return False
