"""Request bodies against the declared shapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azbatch_core.local.errors import BatchError
from azbatch_core.local.wire.validate import validate

POOL = {
    "id": "pool1",
    "vmSize": "standard_d2s_v3",
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
    },
}


def refusal(model, body, **options):
    with pytest.raises(BatchError) as caught:
        validate(model, body, **options)
    return caught.value.code, dict(caught.value.values)


def test_a_body_in_normal_form_is_left_as_it_is():
    assert validate("BatchPoolCreateOptions", POOL) == POOL


def test_enumerations_take_any_case_and_come_out_declared():
    body = validate("BatchJobUpdateOptions", {"onAllTasksComplete": "TerminateJob"})
    assert body == {"onAllTasksComplete": "terminatejob"}
    container = {
        **POOL["virtualMachineConfiguration"],
        "containerConfiguration": {"type": "DOCKERCOMPATIBLE"},
    }
    pool = validate("BatchPoolCreateOptions", {**POOL, "virtualMachineConfiguration": container})
    assert pool["virtualMachineConfiguration"]["containerConfiguration"]["type"] == "dockerCompatible"


def test_numbers_sent_as_strings_are_numbers():
    sent = {"resizeTimeout": "PT20M00S", "targetDedicatedNodes": "0", "targetLowPriorityNodes": "3"}
    assert validate("BatchPoolResizeOptions", sent) == {
        "resizeTimeout": "PT20M",
        "targetDedicatedNodes": 0,
        "targetLowPriorityNodes": 3,
    }


def test_a_wrong_enumeration_member_is_named_like_the_real_service_does():
    code, values = refusal("BatchJobUpdateOptions", {"onAllTasksComplete": "badValue"})
    assert code == "InvalidPropertyValue"
    assert values == {
        "PropertyName": "onAllTasksComplete",
        "PropertyValue": "badValue",
        "Reason": "The value provided for one of the properties in the request body is invalid.",
    }


@pytest.mark.parametrize(
    ("model", "body", "name", "members"),
    [
        ("BatchJobDisableOptions", {"disableTasks": "x"}, "disableTasks", "requeue, terminate, wait"),
        (
            "BatchPoolUpdateOptions",
            {"taskSchedulingPolicy": {"nodeFillType": "x"}},
            "nodeFillType",
            "spread, pack",
        ),
        (
            "BatchNodeReimageOptions",
            {"nodeReimageOption": 5},
            "nodeReimageOption",
            "requeue, terminate, taskcompletion, retaineddata",
        ),
    ],
)
def test_a_wrong_enumeration_member_is_answered_with_the_right_ones(model, body, name, members):
    code, values = refusal(model, body)
    assert (code, values["PropertyName"]) == ("InvalidPropertyValue", name)
    assert values["Reason"] == f"The value must be one of {members}."


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("BatchPoolCreateOptions", POOL),
        ("BatchPoolUpdateOptions", {}),
        ("BatchJobCreateOptions", {"id": "j", "poolInfo": {}}),
        ("BatchJobScheduleCreateOptions", {"id": "s", "schedule": {}, "jobSpecification": {"poolInfo": {}}}),
        ("BatchTaskCreateOptions", {"id": "t", "commandLine": "x"}),
        ("BatchJobManagerTask", {"id": "t", "commandLine": "x"}),
    ],
)
def test_a_display_name_has_at_most_1024_characters(model, body):
    assert validate(model, {**body, "displayName": "ö" * 1024})["displayName"] == "ö" * 1024
    code, values = refusal(model, {**body, "displayName": "ö" * 1025})
    assert (code, values["PropertyName"]) == ("InvalidPropertyValue", "displayName")
    assert values["Reason"] == "A display name has at most 1024 characters; it has 1025."


@pytest.mark.parametrize("model", ["BatchPoolCreateOptions", "BatchPoolSpecification"])
def test_what_the_models_text_alone_requires_is_required(model):
    """The SDK: "This property must be specified.", of a property that its type leaves out."""
    assert refusal(
        model, {"id": "p", "vmSize": "standard_d2s_v3"} if "Create" in model else {"vmSize": "x"}
    ) == (
        "MissingRequiredProperty",
        {"PropertyName": "virtualMachineConfiguration"},
    )
    assert validate("BatchPoolUpdateOptions", {}) == {}


def test_a_missing_required_property_is_named():
    assert refusal("BatchTaskCreateOptions", {"id": "t"}) == (
        "MissingRequiredProperty",
        {"PropertyName": "commandLine"},
    )
    no_sku = {"imageReference": {}, "nodeAgentSKUId": "x"}
    assert validate("BatchPoolCreateOptions", {**POOL, "virtualMachineConfiguration": no_sku})
    code, values = refusal("BatchPoolCreateOptions", {**POOL, "virtualMachineConfiguration": {}})
    assert (code, values["PropertyName"]) == ("MissingRequiredProperty", "imageReference")


def test_null_is_as_good_as_absent():
    assert validate("BatchJobUpdateOptions", {"priority": None}) == {}
    assert refusal("BatchTaskCreateOptions", {"id": None, "commandLine": "x"})[0] == "MissingRequiredProperty"


def test_unknown_and_read_only_properties_are_refused_by_name():
    code, values = refusal("BatchJobCreateOptions", {"id": "j", "poolInfo": {}, "poolInof": {}})
    assert (code, values["PropertyName"]) == ("UnsupportedProperty", "poolInof")
    code, values = refusal("BatchJob", {"poolInfo": {"poolId": "p"}, "state": "active"})
    assert (code, values["PropertyName"]) == ("UnsupportedProperty", "state")
    assert "read-only" in values["Reason"]


def test_annotations_of_a_document_that_was_read_are_read_over():
    body = {"odata.metadata": "http://h/$metadata#jobs/@Element", "poolInfo": {"poolId": "p"}}
    assert validate("BatchJob", body) == {"poolInfo": {"poolId": "p"}}


def test_older_clients_may_send_what_their_version_had():
    body = {**POOL, "resourceTags": {"a": "b"}, "certificateReferences": []}
    assert validate("BatchPoolCreateOptions", body, older=True) == POOL
    assert refusal("BatchPoolCreateOptions", body)[0] == "UnsupportedProperty"


def test_cloud_service_pools_answer_their_retirement():
    body = {**POOL, "cloudServiceConfiguration": {"osFamily": "5"}}
    assert refusal("BatchPoolCreateOptions", body, older=True)[0] == "CloudServiceConfigurationRetired"


@pytest.mark.parametrize(
    ("prop", "value"),
    [
        ("requiredSlots", True),
        ("requiredSlots", "one"),
        ("requiredSlots", 2**31),
        ("requiredSlots", 1.5),
        ("commandLine", 5),
        ("environmentSettings", {}),
        ("environmentSettings", ["A=B"]),
        ("constraints", "PT1H"),
        ("constraints", {"maxWallClockTime": "1 hour"}),
        ("constraints", {"maxTaskRetryCount": []}),
    ],
)
def test_wrong_types_are_refused(prop, value):
    code, values = refusal("BatchTaskCreateOptions", {"id": "t", "commandLine": "x", prop: value})
    assert code == "InvalidPropertyValue"
    assert values["PropertyName"] in {prop, "maxWallClockTime", "maxTaskRetryCount"}


@pytest.mark.parametrize("body", [None, [], "x", 1])
def test_a_body_that_is_no_object_is_refused(body):
    assert refusal("BatchTaskCreateOptions", body)[0] == "InvalidRequestBody"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
task_names = st.sampled_from(
    ["id", "commandLine", "constraints", "environmentSettings", "dependsOn", "outputFiles", "userIdentity"]
)


@given(st.dictionaries(task_names | st.text(max_size=8), json_values, max_size=6))
def test_any_body_is_either_normal_or_refused_and_normal_form_is_stable(body):
    try:
        normal = validate("BatchTaskCreateOptions", body)
    except BatchError:
        return
    assert validate("BatchTaskCreateOptions", normal) == normal


SECRET = "hunter2-and-more"
USER = {"name": "bob"}
TASK = {"id": "t", "commandLine": "true"}
VM = POOL["virtualMachineConfiguration"]
SIGNED = f"https://x.blob.core.windows.net/c/b?sig={SECRET}"


def _pool(**more):
    return {**POOL, **more}


def _registry(**more):
    containers = {"type": "dockerCompatible", "containerRegistries": [{"username": "u", **more}]}
    return _pool(virtualMachineConfiguration={**VM, "containerConfiguration": containers})


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("BatchNodeUserCreateOptions", {**USER, "password": {"value": SECRET}}),
        ("BatchNodeUserCreateOptions", {**USER, "Password": SECRET}),
        ("BatchNodeUserCreateOptions", {**USER, "pw": SECRET}),
        ("BatchNodeUserCreateOptions", {**USER, "expiryTime": SECRET}),
        ("BatchPoolCreateOptions", _registry(passwrd=SECRET)),
        ("BatchPoolCreateOptions", _registry(password=[SECRET])),
        ("BatchPoolCreateOptions", _pool(pasword=SECRET)),
        ("BatchPoolCreateOptions", _pool(acountKey=SECRET)),
        ("BatchPoolCreateOptions", _pool(UserAccounts=[{"name": "u", "password": SECRET}])),
        ("BatchPoolCreateOptions", _pool(userAccounts=SECRET)),
        ("BatchPoolCreateOptions", _pool(virtualMachineConfiguration=SECRET)),
        ("BatchPoolCreateOptions", _pool(displayName={"password": SECRET})),
        ("BatchPoolCreateOptions", _pool(resizeTimeout=[SECRET])),
        ("BatchTaskCreateOptions", {**TASK, "environmentSettings": {"TOKEN": SECRET}}),
        ("BatchTaskCreateOptions", {**TASK, "environmentSettings": [{"TOKEN": SECRET}]}),
        ("BatchTaskCreateOptions", {**TASK, "environmentSettings": [{"name": f"A={SECRET}"}]}),
        ("BatchTaskCreateOptions", {**TASK, "environmentSettings": [SECRET]}),
        ("BatchTaskCreateOptions", {**TASK, "apiToken": SECRET}),
        ("BatchTaskCreateOptions", {**TASK, "resourceFiles": [{"httpURL": SIGNED, "filePath": "f"}]}),
        ("BatchTaskCreateOptions", {**TASK, "resourceFiles": [SIGNED]}),
        ("BatchTaskCreateOptions", {**TASK, "requiredSlots": SIGNED}),
    ],
)
def test_no_refusal_sends_a_secret_back(model, body):
    code, values = refusal(model, body)
    assert code in {"InvalidPropertyValue", "UnsupportedProperty"}
    assert SECRET not in str(values)
    assert values["PropertyValue"] == "***"


def test_a_number_for_a_password_is_not_sent_back():
    _, values = refusal("BatchNodeUserCreateOptions", {**USER, "password": 123456789})
    assert values["PropertyValue"] == "***"


def test_what_is_no_secret_is_shown():
    assert refusal("BatchPoolCreateOptions", _pool(vmsize="d2"))[1]["PropertyValue"] == "d2"
    assert refusal("BatchPoolCreateOptions", _pool(taskSlotsPerNode="x"))[1]["PropertyValue"] == "x"
    assert refusal("BatchTaskCreateOptions", {**TASK, "requiredSlots": 1.5})[1]["PropertyValue"] == "1.5"
