"""Parameters of a destination, as Galaxy hands them over: pure, without Pulsar."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from azbatch_core import ExistingPool, ManagedPool, SpecError
from azbatch_pulsar.destination import PREFIX, Destination, parse

GIB = 2**30
LOGIN = {"server": "a.azurecr.io", "username": "u", "password": "sekrit"}
IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/puller"
)
GIVEN: dict[str, tuple[Any, Any]] = {
    "account": ("prod", "prod"),
    "pool": ("p", "p"),
    "vm_size": ("standard_d4s_v5", "standard_d4s_v5"),
    "cores": ("4", 4),
    "memory": ("8GiB", 8 * GIB),
    "disk": ("100GiB", 100 * GIB),
    "gpus": ("2", 2),
    "gpu_model": ("T4", "T4"),
    "walltime": ("12h", timedelta(hours=12)),
    "stage_timeout": ("30m", timedelta(minutes=30)),
    "spot": ("True", True),
    "max_nodes": ("7", 7),
    "min_nodes": ("1", 1),
    "idle_time": ("10m", timedelta(minutes=10)),
    "strategy": ("dependent_tasks", "dependent_tasks"),
    "runtime": ("host", "host"),
    "path": ("/opt/bin:/opt/more", "/opt/bin:/opt/more"),
    "identity": (IDENTITY, IDENTITY),
    "volumes": ("/cvmfs:/cvmfs:ro, /b:/b,", ("/cvmfs:/cvmfs:ro", "/b:/b")),
    "docker_options": ("--network host", "--network host"),
    "staging": ("/mnt/pulsar/", "/mnt/pulsar"),
    "storage_container": ("galaxy-files", "galaxy-files"),
    "priority": ("-5", -5),
    "retention": ("7d", timedelta(days=7)),
    "cleanup": ("never", "never"),
    "instance": ("main", "main"),
}
DOCUMENTS = {"registry", "node_image", "message_queue_url"}


def of(**given: Any) -> Destination:
    return parse({PREFIX + name: value for name, value in given.items()})


def refusal(**given: Any) -> SpecError:
    with pytest.raises(SpecError) as caught:
        of(**given)
    return caught.value


def test_every_parameter_is_tried_here() -> None:
    assert GIVEN.keys() | DOCUMENTS == Destination.model_fields.keys()


@pytest.mark.parametrize("name", list(GIVEN))
def test_a_parameter_as_text(name: str) -> None:
    text, wanted = GIVEN[name]
    assert getattr(of(**{name: text}), name) == wanted


@pytest.mark.parametrize("name", list(Destination.model_fields))
@pytest.mark.parametrize("nothing", ["", None])
def test_nothing_is_what_is_left_out(name: str, nothing: str | None) -> None:
    assert of(**{name: nothing}) == Destination()


def test_numbers_and_truths_may_come_as_such() -> None:
    assert of(cores=2, gpus=1.0, spot=False) == of(cores="2", gpus="1", spot="false")
    assert of(cores="0.5").cores == 0.5


@pytest.mark.parametrize("name", sorted(DOCUMENTS - {"message_queue_url"}))
def test_fields_of_their_own_may_come_as_json(name: str) -> None:
    import json

    image = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204"}
    document = LOGIN if name == "registry" else image
    assert getattr(of(**{name: json.dumps(document)}), name) == getattr(of(**{name: document}), name)
    error = refusal(**{name: "sekrit"})
    assert str(error) == f"azure_batch_{name}: must be a mapping of fields, not text"


def test_galaxy_s_own_parameters_are_taken_where_nothing_else_is_said() -> None:
    env = [
        {"name": "GALAXY_SLOTS", "value": "6"},
        {"name": "GALAXY_MEMORY_MB", "value": "2048"},
        {"name": "OTHER", "value": "x"},
        {"file": "/etc/profile"},
    ]
    found = parse({"docker_extra_volumes": "/a:/a,/b:/b"}, env)
    assert (found.cores, found.memory, found.volumes) == (6, 2 * GIB, ("/a:/a", "/b:/b"))
    own = parse(
        {"docker_extra_volumes": "/a:/a", "azure_batch_volumes": "/c:/c", "azure_batch_cores": 1}, env
    )
    assert (own.cores, own.memory, own.volumes) == (1, 2 * GIB, ("/c:/c",))
    assert parse({}, [{"name": "GALAXY_SLOTS", "value": "${GALAXY_SLOTS:-1}"}]).cores is None
    assert parse({"docker_memory": "8G", "amqp_url": "x", "azure_batching": 1}) == Destination()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"corse": 3}, "azure_batch_corse: unknown field - did you mean 'azure_batch_cores'?"),
        ({"cores": "many"}, "azure_batch_cores: must be a number, not 'many'"),
        ({"cores": "0"}, "azure_batch_cores: 0 is out of range: must be more than 0"),
        ({"gpus": "1.5"}, "azure_batch_gpus: must be a whole number, not 1.5"),
        (
            {"memory": "8192"},
            (
                "azure_batch_memory: '8192' has no unit that is known"
                " - write '16GiB' (2^30 bytes each), '16GB' (10^9 bytes each), or whole bytes"
            ),
        ),
        (
            {"walltime": "3600"},
            "azure_batch_walltime: '3600' is text without a unit - write '3600s' for seconds",
        ),
        (
            {"strategy": "single"},
            (
                "azure_batch_strategy: 'single' is not one of 'single_task', 'dependent_tasks'"
                " - did you mean 'single_task'?"
            ),
        ),
        (
            {"staging": "here"},
            "azure_batch_staging: 'here' must be an absolute path without spaces, quotes and colons",
        ),
        (
            {"storage_container": "A_"},
            (
                "azure_batch_storage_container: 'A_' is not a container's name:"
                " 3 to 63 lower-case letters, digits and single hyphens"
            ),
        ),
        (
            {"docker_options": "--entrypoint 'x"},
            'azure_batch_docker_options: "--entrypoint \'x" cannot be read as words: No closing quotation',
        ),
        (
            {"registry": {**LOGIN, "extra": 1}},
            (
                "azure_batch_registry.extra: unknown field"
                " - the fields here are server, username, password, identity"
            ),
        ),
        (
            {"registry": {"server": "a.azurecr.io", "identity": IDENTITY}},
            (
                "azure_batch_registry: the node's own Docker cannot log in with an identity"
                " - give username and password ('env:NAME'), or take the strategy dependent_tasks"
            ),
        ),
    ],
)
def test_a_wrong_parameter_is_named_with_the_next_step(given: dict[str, Any], words: str) -> None:
    error = refusal(**given)
    assert str(error) == words
    assert error.field is not None
    assert error.field.startswith(PREFIX)


def test_all_that_is_wrong_is_said_at_once() -> None:
    error = refusal(
        corse=3, memory="8192", registry={**LOGIN, "extra": 1, "server": "https://sekrit"}, gpus=-1
    )
    told = str(error)
    assert told.startswith("5 parameters are wrong: azure_batch_corse: unknown field - did you mean")
    for name in ("memory", "registry.extra", "registry.server", "gpus"):
        assert f"; azure_batch_{name}: " in told
    assert "\n" not in told


def test_a_name_that_is_like_none_is_answered_with_all() -> None:
    hint = refusal(zzzqq=1).hint or ""
    assert hint.startswith("the parameters are azure_batch_account, ")
    assert all(PREFIX + name in hint for name in Destination.model_fields)


@pytest.mark.parametrize(
    "given",
    [
        {"registry": "sekrit"},
        {"registry": '{"password": "sekrit"'},
        {"registry": {**LOGIN, "server": "https://x"}},
        {"registry": {**LOGIN, "password": {"a": "sekrit"}}},
        {"message_queue_url": {"url": "amqp://u:sekrit@h//"}},
        {"sekrits": "sekrit", "registry": LOGIN},
    ],
)
def test_no_error_repeats_a_secret(given: dict[str, Any]) -> None:
    error = refusal(**given)
    said = f"{error!s} {error!r} {error.__cause__!r} {error.__context__!r}".replace("azure_batch_sekrits", "")
    assert "sekrit" not in said


def test_secrets_are_not_in_the_repr() -> None:
    found = of(registry=LOGIN, message_queue_url="amqp://u:sekrit@h//")
    assert "sekrit" not in f"{found!r} {found!s} {found.model_dump()!r}"
    assert found.message_queue_url is not None
    assert found.message_queue_url.reveal() == "amqp://u:sekrit@h//"


def test_an_identity_serves_a_registry_where_batch_pulls() -> None:
    found = of(strategy="dependent_tasks", registry={"server": "a.azurecr.io", "identity": IDENTITY})
    assert found.registry is not None
    assert found.registry.identity == IDENTITY


def test_pools() -> None:
    assert of(pool="p").shared_pool() == ExistingPool(id="p")
    managed = of(vm_size="standard_d4s_v5", max_nodes="7", spot="true", identity=IDENTITY).shared_pool()
    assert isinstance(managed, ManagedPool)
    assert (managed.vm_size, managed.max_nodes, managed.spot) == ("standard_d4s_v5", 7, True)
    assert managed.identities == (IDENTITY,)
    assert managed.host_docker
    assert not of(runtime="host").shared_pool().host_docker  # type: ignore[union-attr]
