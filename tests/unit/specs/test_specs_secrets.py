"""Secrets: never shown, in whatever way an object is looked at or goes wrong."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from specs_refusals import SECRET, refusal

from azbatch_core.errors import ConfigurationError
from azbatch_core.specs import (
    AccountSpec,
    ContainerSpec,
    EnvironmentVariable,
    JobSpec,
    RegistrySpec,
    ResourceFile,
    Secret,
    TaskSpec,
    UrlSecret,
)

VAULT = "keyvault:https://my-vault.vault.azure.net/secrets/token"
SIGNED = f"https://acc.blob.core.windows.net/c?sp=rlw&sig={SECRET}"


def test_a_literal_is_never_shown():
    secret = Secret(SECRET)
    assert repr(secret) == str(secret) == f"{secret}" == "Secret('***')"
    assert secret.reference is None
    assert secret.reveal() == SECRET


@pytest.mark.parametrize("reference", ["env:TOKEN", VAULT, VAULT + "/0123abcd"])
def test_a_reference_is_shown_as_it_is(reference: str):
    secret = Secret(reference)
    assert repr(secret) == f"Secret('{reference}')"
    assert secret.reference == reference


@pytest.mark.parametrize(
    "value",
    [
        "env:",
        "env:1A",
        f"env:A {SECRET}",
        "keyvault:x",
        f"keyvault:https://{SECRET}.example/secrets/x",
        "***",
        "",
    ],
)
def test_a_malformed_secret_is_refused_and_not_repeated(value: str):
    refusal(Secret, value)


@pytest.mark.parametrize("value", [12345678, None, True, [SECRET], {"x": SECRET}, b"x"])
def test_a_secret_must_be_text(value: Any):
    error = refusal(RegistrySpec, username="u", password=value)
    assert error.field == "password"
    assert "12345678" not in str(error)


def test_text_that_looks_like_a_reference_can_be_taken_as_it_is():
    assert Secret.literal("env:TOKEN").reveal() == "env:TOKEN"
    assert Secret.literal("env:TOKEN").reference is None
    assert Secret.literal("env:TOKEN") != Secret("env:TOKEN")
    refusal(Secret.literal, "")


def test_an_environment_reference_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch):
    secret = Secret("env:AZBATCH_TEST_TOKEN")
    monkeypatch.delenv("AZBATCH_TEST_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="AZBATCH_TEST_TOKEN is not set"):
        secret.reveal()
    monkeypatch.setenv("AZBATCH_TEST_TOKEN", SECRET)
    assert secret.reveal() == SECRET


def test_a_key_vault_reference_needs_a_resolver():
    assert Secret(VAULT).reveal({VAULT: SECRET}.__getitem__) == SECRET
    with pytest.raises(ConfigurationError, match="Key Vault"):
        Secret(VAULT).reveal()


def test_secrets_are_equal_by_content():
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("env:A")}) == 2


def test_secrets_are_frozen_and_copies_are_themselves():
    secret = Secret(SECRET)
    with pytest.raises(AttributeError):
        secret._value = "x"
    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret])[0] is secret


@pytest.mark.parametrize("secret", [Secret(SECRET), UrlSecret(SIGNED)])
def test_a_literal_does_not_go_into_a_pickle(secret: object):
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    "secret", [Secret("env:TOKEN"), UrlSecret("env:URL"), UrlSecret("https://a.example/b")]
)
def test_a_reference_survives_a_pickle(secret: object):
    assert pickle.loads(pickle.dumps(secret)) == secret  # noqa: S301  # what it reads was written just here


def everything() -> JobSpec:
    """A job with a literal secret in each place that takes one."""
    registry = RegistrySpec(server="r.azurecr.io", username="u", password=SecretStr(SECRET))
    task = TaskSpec(
        command=["x"],
        container=ContainerSpec(image="a", registry=registry),
        environment={"TOKEN": {"secret": SECRET}, "OTHER": Secret(SECRET)},
        resource_files=[{"storage_container_url": SIGNED}, {"http_url": SIGNED, "file_path": "x"}],
        output_files=[{"file_pattern": "*", "container_url": SIGNED}],
    )
    return JobSpec(name="x", tasks=[task], pool={"registries": [registry], "container_images": ["a"]})


def test_a_job_shows_none_of_its_secrets():
    job = everything()
    account = AccountSpec(
        name="a",
        account_key="SFVTSEhVU0g=",
        client_secret=SECRET,
        storage={"blob_endpoint": "s.example", "account_key": "SFVTSEhVU0g="},
    )
    for spec in (job, account):
        for shown in (
            repr(spec),
            str(spec),
            spec.model_dump_json(),
            json.dumps(spec.model_dump(mode="json")),
        ):
            assert SECRET not in shown
            assert "SFVTSEhVU0g=" not in shown
            assert "***" in shown
        assert SECRET not in repr(spec.model_dump())
    assert job.tasks[0].environment[0].secret == Secret(SECRET)


def test_what_was_printed_with_masks_is_not_read_back_as_a_secret():
    printed = everything().model_dump(mode="json")
    assert "mask" in refusal(JobSpec, **printed).message


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (AccountSpec, {"name": "x", "acount_key": SECRET}),
        (AccountSpec, {"name": "x", "key": SECRET}),
        (AccountSpec, {"name": "x", "account_key": f"{SECRET}!"}),
        (AccountSpec, {"name": 5, "client_secret": SECRET}),
        (AccountSpec, {"name": "x", "client_secret": [SECRET]}),
        (AccountSpec, {"name": "x", "endpoint": f"https://u:{SECRET}@h.example"}),
        (AccountSpec, {"name": "x", "storage": SECRET}),
        (AccountSpec, {"name": "x", "storage": {"blob_endpoint": "x.example", "acount_key": SECRET}}),
        (RegistrySpec, {"username": "u", "passwrd": SECRET}),
        (RegistrySpec, {"server": "a b", "username": "u", "password": SECRET}),
        (RegistrySpec, {"password": SECRET}),
        (ContainerSpec, {"image": "a", "registry": f"u:{SECRET}@h"}),
        (EnvironmentVariable, {"name": "A", "value": "x", "secret": SECRET}),
        (EnvironmentVariable, {"name": "A", "sercet": SECRET}),
        (TaskSpec, {"command": ["x"], "environment": {"A": {"sercet": SECRET}}}),
        (TaskSpec, {"command": ["x"], "environment": [SECRET]}),
        (TaskSpec, {"command": ["x"], "environment": f"TOKEN={SECRET}"}),
        (TaskSpec, {"command": ["x"], "environment": {"A B": SECRET}}),
        (TaskSpec, {"command": ["x"], "environment": {"A": [SECRET]}}),
        (TaskSpec, {"command": f"curl {SIGNED}"}),
        (ResourceFile, {"http_url": SIGNED}),
        (ResourceFile, {"url": SIGNED}),
        (ResourceFile, {"http_url": "ftp://x?sig=" + SECRET, "file_path": "x"}),
        (ResourceFile, {"storage_container_url": SIGNED.replace("/c?", "/c/blob?")}),
        (ResourceFile, {"storage_container_url": SIGNED.replace("?", "&")}),
        (ResourceFile, {"auto_storage_container_name": SIGNED}),
        (ResourceFile, {"http_url": "https://a.example/x", "file_path": f"/{SIGNED}"}),
    ],
)
def test_a_mistake_beside_or_in_a_secret_does_not_show_it(make: Any, fields: dict[str, Any]):
    refusal(make, **fields)
    refusal(make.model_validate, fields)
    refusal(make.model_validate_json, json.dumps(fields))


def test_pydantic_itself_does_not_show_the_input():
    class Outer(ContainerSpec):
        """Pydantic's own error, as somebody else's model around a spec would meet it."""

    with pytest.raises(ValidationError) as info:
        Outer.__pydantic_validator__.validate_python(
            {"image": "a", "registry": {"username": "u", "passwrd": SECRET}}
        )
    assert SECRET not in str(info.value)


def test_assigning_to_a_frozen_spec_does_not_show_the_value():
    account = AccountSpec(name="x")
    error = refusal(setattr, account, "client_secret", SECRET)
    assert error.hint == "make a changed copy: spec.replace(client_secret=...)"
    refusal(delattr, account, "client_secret")
