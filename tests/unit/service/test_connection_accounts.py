"""Which account is meant, and what is said when a profile or a variable is wrong."""

from __future__ import annotations

import base64
import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from azbatch_core.errors import ConfigurationError
from azbatch_core.service.accounts import profiles as accounts
from azbatch_core.service.accounts.profiles import list_accounts, load_account

if TYPE_CHECKING:
    from pathlib import Path

KEY = base64.b64encode(b"never shown, anywhere at all" * 2).decode()
PROFILES = """\
default = "prod"

[accounts.prod]
endpoint = "https://mybatch.westeurope.batch.azure.com"
credential = "cli"

[accounts.dev]
endpoint = "https://devbatch.westeurope.batch.azure.com"
account_key = "env:DEV_KEY"
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No account from the machine that runs the tests."""
    for name in list(os.environ):
        if name.startswith(("AZURE_", "AZBATCH_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AZBATCH_LOCAL_DIR", str(tmp_path / "state"))


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of profiles; a test overwrites it."""
    path = tmp_path / "config.toml"
    path.write_text(PROFILES)
    path.chmod(0o600)
    monkeypatch.setenv("AZBATCH_CONFIG", str(path))
    return path


@pytest.mark.usefixtures("config")
def test_a_name_picks_a_profile_and_no_name_the_default() -> None:
    assert load_account("dev").batch_account == "devbatch"
    assert load_account("dev").credential == "shared_key"
    assert load_account().name == "prod"


def test_the_file_is_looked_for_at_home(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "azbatch" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(PROFILES)
    assert load_account().name == "prod"


def test_variables_of_the_azure_cli_are_an_account_and_win_over_the_default(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_BATCH_ENDPOINT", '"mine.eastus.batch.azure.com/"')
    monkeypatch.setenv("AZURE_BATCH_ACCESS_KEY", KEY)
    account = load_account()
    assert account.endpoint == "https://mine.eastus.batch.azure.com"
    assert account.credential == "shared_key"
    # Its handle means the same where the variables are not set but a profile of that name is.
    assert account.name == "mine"
    assert load_account("env") == load_account("mine") == account
    assert load_account("prod").endpoint == "https://mybatch.westeurope.batch.azure.com"
    assert KEY not in repr(account)
    assert config.exists()


def test_without_a_key_the_variables_mean_the_default_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BATCH_ENDPOINT", "https://mine.eastus.batch.azure.com")
    assert load_account().credential == "default"


def test_variables_add_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BATCH_ENDPOINT", "https://mine.eastus.batch.azure.com")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mystore")
    monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)
    storage = load_account().storage
    assert storage is not None
    assert storage.blob_endpoint == "https://mystore.blob.core.windows.net"
    assert storage.account_key is not None
    assert storage.account_key.reference == "env:AZURE_STORAGE_KEY"


@pytest.mark.parametrize(
    ("endpoint", "authority", "cloud"),
    [
        ("https://a.usgovvirginia.batch.usgovcloudapi.net", "", "usgov"),
        ("a.chinaeast.batch.chinacloudapi.cn/", "", "china"),
        ("https://a.x.batch.sovcloud-api.fr", "", "bleu"),
        ("https://a.westeurope.batch.azure.com", "", "public"),
        ("https://batch.proxy.example.com", "https://login.microsoftonline.us/", "usgov"),
    ],
)
def test_the_cloud_follows_from_the_endpoint_or_the_login_host(
    endpoint: str, authority: str, cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_BATCH_ENDPOINT", endpoint)
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", authority)
    assert load_account().cloud == cloud


def test_a_key_without_an_endpoint_does_not_quietly_mean_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BATCH_ACCOUNT", "mine")
    monkeypatch.setenv("AZURE_BATCH_ACCESS_KEY", KEY)
    with pytest.raises(ConfigurationError, match="AZURE_BATCH_ENDPOINT is not"):
        load_account()


def test_a_wrong_endpoint_in_a_variable_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BATCH_ENDPOINT", "ftp://mine")
    with pytest.raises(ConfigurationError, match=r"AZURE_BATCH_\* in the environment: endpoint"):
        load_account()


@pytest.mark.usefixtures("config")
def test_an_unknown_account_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_account("prd")
    assert caught.value.message == "there is no account 'prd'; known: dev, local, prod"
    assert caught.value.hint == "did you mean 'prod'?"
    with pytest.raises(ConfigurationError, match=r"\[accounts.zzzzz\]"):
        load_account("zzzzz")


def test_env_without_variables_says_which_is_missing() -> None:
    with pytest.raises(ConfigurationError, match="AZURE_BATCH_ENDPOINT is not set"):
        load_account("env")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('default = "prod\n', 1, "Illegal character"),
        ('defualt = "prod"\n', 1, "unknown key 'defualt'"),
        ('\ndefault = "prod"\n', 2, "'prod' is no account; known: local"),
        ("default = 3\n", 1, "is no account"),
        ('accounts = "x"\n', 1, "must be tables"),
        ('[accounts.local]\nendpoint = "x"\n', 1, "'local' is taken"),
        ('[accounts.env]\nendpoint = "x"\n', 1, "'env' is taken"),
        ('[accounts.a]\nendpiont = "x"\n', 2, "accounts.a.endpiont"),
        ('[accounts.b]\n[accounts.a]\n# no\nendpoint = "ftp://x"\n', 4, "accounts.a.endpoint"),
        ('[accounts.a]\nname = "b"\n', 2, "accounts.a.name"),
        ('[accounts.a]\ncredential = "magic"\n', 2, "accounts.a.credential"),
        (
            '[accounts.a.storage]\nblob_endpoint = "https://s.x"\naccount_key = "not base64!"\n',
            3,
            ".account_key",
        ),
        ("[accounts]\nb = {}\na = { endpoint = 7 }\n", 3, "accounts.a.endpoint"),
        ('[accounts.a]\nstorage.blob_endpoint = "ftp://x"\n', 2, "accounts.a.storage"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_its_line(
    text: str, line: int, words: str, config: Path
) -> None:
    config.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_account("a")
    assert caught.value.message.startswith(f"{config}, line {line}: ")
    assert words in caught.value.message
    assert "not base64!" not in str(caught.value)


def test_a_file_that_is_not_there_has_no_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AZBATCH_CONFIG", str(tmp_path / "nowhere.toml"))
    assert [entry.name for entry in list_accounts()] == ["local"]
    with pytest.raises(ConfigurationError, match=r"nowhere.toml, which does not exist yet"):
        load_account("prod")


def test_a_file_that_is_not_text_is_told_so(config: Path) -> None:
    config.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load_account("a")


LITERAL = f'[accounts.a]\nendpoint = "https://a.b.batch.azure.com"\naccount_key = "{KEY}"\n'


@pytest.mark.parametrize(
    ("text", "mode", "warned"),
    [
        (LITERAL, 0o644, True),
        (LITERAL, 0o640, True),
        (LITERAL, 0o600, False),
        (PROFILES, 0o644, False),
        (
            f"[accounts.a.storage]\nblob_endpoint = 'https://s.example.com'\n  account_key = '{KEY}'\n",
            0o644,
            True,
        ),
    ],
)
def test_a_key_that_others_can_read_is_warned_about(
    text: str, mode: int, config: Path, caplog: pytest.LogCaptureFixture, *, warned: bool
) -> None:
    config.write_text(text)
    config.chmod(mode)
    load_account("dev" if text is PROFILES else "a")
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(messages) == int(warned)
    assert KEY not in "".join(messages)


def test_accounts_are_listed_without_starting_anything(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("started something"))
    monkeypatch.setenv("AZURE_BATCH_ENDPOINT", "https://mine.eastus.batch.azure.com")
    listed = {entry.name: entry for entry in list_accounts()}
    assert list(listed) == ["dev", "local", "mine", "prod"]
    assert listed["local"].endpoint is None
    assert (listed["mine"].source, listed["mine"].is_default) == ("environment", True)
    assert (listed["prod"].source, listed["prod"].is_default) == (str(config), False)
    assert listed["dev"].credential == "shared_key"


def test_with_nothing_set_up_local_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    marker = object()
    monkeypatch.setattr(accounts, "local_account", lambda **_: marker)
    assert load_account() is marker


def test_looking_an_account_up_imports_no_azure(config: Path) -> None:
    code = (
        "import sys; from azbatch_core.service.accounts.profiles import load_account; load_account('prod');"
        "import azbatch_core.service.connect.connection;"
        "sys.exit(str([m for m in sys.modules if m.split('.')[0] in ('azure', 'msal')])[1:-1] or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "AZBATCH_CONFIG": str(config)}, check=False
    )
    assert done.returncode == 0
