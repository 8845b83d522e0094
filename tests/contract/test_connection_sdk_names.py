"""Every name of the SDK that azbatch relies on exists in the installed version, with its parameters."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import azure.batch
import pytest
from azure.batch import BatchClient, models

import azbatch_core
from azbatch_core.service.connect import error_mapping, sdk
from azbatch_core.service.connect.connection import check_sdk_version

METHODS: dict[str, set[str]] = {
    "create_pool": {"pool"},
    "get_pool": {"pool_id", "select", "expand"},
    "list_pools": {"filter", "select", "max_results"},
    "begin_delete_pool": {"pool_id"},
    "begin_resize_pool": {"pool_id", "resize_options", "etag", "match_condition"},
    "create_job": {"job"},
    "get_job": {"job_id", "select"},
    "update_job": {"job_id", "job", "etag", "match_condition"},
    "list_jobs": {"filter", "select", "max_results"},
    "begin_terminate_job": {"job_id", "options"},
    "begin_delete_job": {"job_id"},
    "create_task_collection": {"job_id", "task_collection"},
    "list_tasks": {"job_id", "filter", "select", "max_results"},
    "get_task": {"job_id", "task_id", "select"},
    "terminate_task": {"job_id", "task_id"},
    "get_job_task_counts": {"job_id"},
    "list_job_preparation_and_release_task_status": {"job_id"},
    "list_nodes": {"pool_id", "filter", "select"},
    "get_node": {"pool_id", "node_id"},
    "list_task_files": {"job_id", "task_id", "recursive"},
    "download_task_file": {"job_id", "task_id", "file_path", "ocp_range"},
    "get_task_file_properties": {"job_id", "task_id", "file_path"},
    "list_node_files": {"pool_id", "node_id", "recursive"},
    "download_node_file": {"pool_id", "node_id", "file_path", "ocp_range"},
    "send_request": {"request", "stream"},
    "close": set(),
}
# Only their wire values are used; the states that azbatch maps must be all that the SDK knows.
ENUMS = (
    "BatchJobState",
    "BatchTaskState",
    "BatchPoolState",
    "BatchNodeState",
    "AllocationState",
    "BatchTaskExecutionResult",
    "BatchErrorSourceCategory",
    "BatchTaskAddStatus",
    "BatchAllTasksCompleteMode",
    "BatchTaskFailureMode",
    "OutputFileUploadCondition",
)
MODELS = (
    "BatchTaskGroup",
    "BatchJobCreateOptions",
    "BatchPoolCreateOptions",
    "BatchJobUpdateOptions",
    "BatchPoolResizeOptions",
    "BatchTaskCreateOptions",
)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_exists_with_its_parameters(name: str) -> None:
    parameters = inspect.signature(getattr(BatchClient, name)).parameters
    assert set(parameters) >= METHODS[name]


@pytest.mark.parametrize("name", [*ENUMS, *MODELS])
def test_a_model_or_enum_exists(name: str) -> None:
    assert hasattr(models, name)


def test_one_module_imports_the_names_of_the_sdk() -> None:
    package = Path(azbatch_core.__file__).parent
    importing = set()
    for path in [path for path in package.rglob("*.py") if "local" not in path.relative_to(package).parts]:
        tree = ast.parse(path.read_text())
        for_types = [
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
            for inner in ast.walk(node)
        ]
        for node in ast.walk(tree):
            named = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("azure.batch")
            if named and node not in for_types:
                importing.add(path.name)
    assert importing == {"sdk.py"}


def test_the_installed_version_is_one_we_accept() -> None:
    check_sdk_version(azure.batch.__version__)
    wanted = [text for text in requires("azbatch") or () if text.startswith("azure-batch")]
    assert [set(text.removeprefix("azure-batch").split(",")) for text in wanted] == [{">=15.1", "<16"}]


def test_the_sdk_speaks_the_version_of_the_api_that_our_own_requests_name() -> None:
    client = sdk.build_client(
        "https://a.b.batch.azure.com", _Token(), scope="s", user_agent="t", connections=1, loopback=False
    )
    with client:
        assert client._config.api_version == sdk.API_VERSION


def test_the_client_neither_retries_nor_throws_kept_connections_away() -> None:
    client = sdk.build_client(
        "https://a.b.batch.azure.com", _Token(), scope="s", user_agent="t", connections=64, loopback=False
    )
    with client:
        assert isinstance(client._config.retry_policy, sdk._Verdict)
        session: Any = client._client._pipeline._transport.session  # type: ignore[attr-defined]
        adapter = session.get_adapter("https://a")
        assert (adapter._pool_maxsize, adapter.max_retries.total) == (64, False)


def test_a_credential_that_finds_nothing_is_one_line_and_says_what_to_do() -> None:
    from azure.core.exceptions import ClientAuthenticationError

    text = "DefaultAzureCredential failed to retrieve a token.\nAttempted credentials:\n\tCli: not logged in"
    error = error_mapping.from_sdk(ClientAuthenticationError(text))
    assert type(error).__name__ == "AuthenticationError"
    assert "\n" not in str(error)
    assert "az login" in str(error)


def test_a_chain_without_any_login_is_told_shortly_and_a_login_that_failed_by_its_words() -> None:
    from azure.core.exceptions import ClientAuthenticationError
    from azure.identity import ChainedTokenCredential, CredentialUnavailableError

    class Way:
        def __init__(self, error: Exception) -> None:
            self.error = error

        def get_token(self, *_: str, **__: Any) -> Any:
            raise self.error

    def told(*errors: Exception) -> str:
        with pytest.raises(ClientAuthenticationError) as caught:
            ChainedTokenCredential(*map(Way, errors)).get_token("s")
        return str(error_mapping.from_sdk(caught.value))

    missing = [
        CredentialUnavailableError(message="It is unavailable.\nVisit https://aka.ms/x to see more."),
        CredentialUnavailableError(message="Azure CLI not found on path"),
    ]
    assert told(*missing).startswith(
        "there is no login: azure-identity tried 2 ways, none of them set up - run"
    )
    failed = ClientAuthenticationError("AADSTS7000215: Invalid client secret provided.")
    assert told(*missing, failed).startswith(
        "Way: AADSTS7000215: Invalid client secret provided. - run 'az login'"
    )


def test_a_shared_key_imports_no_azure_identity() -> None:
    code = (
        "import sys; from azbatch_core.service.connect.connection import Connection;"
        "from azbatch_core.specs import AccountSpec;"
        "c = Connection(AccountSpec(name='a', endpoint='https://a.b.batch.azure.com', account_key='a2V5'));"
        "c.client; c.close(); sys.exit('azure.identity' in sys.modules or 'msal' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class _Token:
    def get_token(self, *scopes: str, **_: Any) -> Any:
        """Never asked."""
        raise AssertionError(scopes)
