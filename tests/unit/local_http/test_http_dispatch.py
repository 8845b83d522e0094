"""Requests through the application, answered by a made-up engine."""

from __future__ import annotations

import logging
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_engine import ETAG


def test_an_element_begins_with_its_metadata_and_has_its_tags(ask):
    answer = ask("GET", "/pools/pool1")
    assert answer.status == 200
    assert answer.body.startswith(b'{"odata.metadata":"http://127.0.0.1:1/$metadata#pools/@Element"')
    assert answer.json["taskSchedulingPolicy"] == {"nodeFillType": "Spread"}
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Last-Modified"] == "Thu, 16 Jan 2025 18:44:41 GMT"
    assert answer.headers["Content-Type"] == "application/json;odata=minimalmetadata"
    assert answer.headers["DataServiceVersion"] == "3.0"
    assert answer.headers["Server"] == "Microsoft-HTTPAPI/2.0"
    assert {"Content-Length", "DataServiceId", "Location"}.isdisjoint(answer.headers)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.headers["request-id"])


POOL = {
    "id": "pool9",
    "vmSize": "standard_d2s_v3",
    "virtualMachineConfiguration": {"imageReference": {}, "nodeAgentSKUId": "x"},
}


def test_a_new_resource_says_where_it_is(ask):
    answer = ask("POST", "/pools", POOL)
    assert (answer.status, answer.body) == (201, b"")
    assert answer.headers["Location"] == answer.headers["DataServiceId"] == "http://127.0.0.1:1/pools/pool9"
    assert answer.headers["ETag"] == ETAG
    assert "Content-Type" not in answer.headers


def test_writes_name_the_request_and_deletes_nothing(ask):
    assert ask("PATCH", "/pools/pool1", {}).headers["DataServiceId"] == "http://127.0.0.1:1/pools/pool1"
    replaced = ask(
        "POST", "/pools/pool1/updateproperties", {"metadata": [], "applicationPackageReferences": []}
    )
    assert (replaced.status, replaced.headers["Content-Length"]) == (204, "0")
    assert replaced.headers["DataServiceId"].endswith("/pools/pool1/updateproperties")
    deleted = ask("DELETE", "/pools/pool1")
    assert deleted.status == 202
    assert {"DataServiceId", "ETag", "Last-Modified", "Location"}.isdisjoint(deleted.headers)
    reactivated = ask("POST", "/jobs/j/tasks/t/reactivate")
    assert reactivated.status == 204
    assert "DataServiceId" not in reactivated.headers
    assert reactivated.headers["ETag"] == ETAG
    added = ask("POST", "/jobs/j/addtaskcollection", {"value": [{"id": "t", "commandLine": "x"}]})
    assert added.status == 200
    assert {"DataServiceId", "ETag"}.isdisjoint(added.headers)


def test_the_error_envelope_is_the_services(ask):
    answer = ask("GET", "/pools/nope")
    assert answer.status == 404
    text = answer.body.decode()
    assert text.startswith(
        '{\r\n  "odata.metadata":"http://127.0.0.1:1/$metadata#Microsoft.Azure.Batch.Protocol.Entities.'
        'Container.errors/@Element","code":"PoolNotFound","message":{\r\n    "lang":"en-US","value":"'
    )
    assert re.fullmatch(
        rf"The specified pool does not exist\.\nRequestId:{answer.headers['request-id']}"
        r"\nTime:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z",
        answer.json["message"]["value"],
    )
    assert "values" not in answer.json
    assert answer.headers["Content-Length"] == str(len(answer.body))


def test_errors_to_head_have_no_body(ask):
    answer = ask("HEAD", "/pools/nope")
    assert (answer.status, answer.body) == (404, b"")
    assert "Content-Type" not in answer.headers
    assert ask("HEAD", "/pools/pool1").headers["ETag"] == ETAG


def test_a_broken_engine_is_an_internal_error_in_the_log_and_in_an_envelope(ask, caplog):
    with caplog.at_level(logging.ERROR):
        answer = ask("GET", "/pools/broken")
    assert (answer.status, answer.code) == (500, "InternalError")
    assert "this engine is broken" not in answer.body.decode()
    assert "this engine is broken" in caplog.text


def test_an_unsigned_request_learns_nothing(ask):
    for target in ("/pools/pool1", "/nowhere", "/pools/pool1?api-version=1"):
        answer = ask("GET", target, authorization="")
        assert (answer.status, answer.code) == (403, "AuthenticationFailed")


@pytest.mark.parametrize(
    ("version", "status"),
    [("2025-06-01", 200), ("2024-07-01.20.0", 200), ("2024-02-01.19.0", 200), ("2019-08-01.10.0", 400)],
)
def test_api_versions(ask, version, status):
    answer = ask("GET", f"/pools/pool1?api-version={version}")
    assert answer.status == status
    if status == 400:
        assert answer.code == "UnsupportedRequestVersion"


def test_a_missing_api_version_is_named(ask):
    answer = ask("GET", "/pools/pool1?timeOut=30", versioned=False)
    assert (answer.status, answer.code) == (400, "MissingRequiredQueryParameter")
    assert answer.values == {"QueryParameterName": "api-version"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8080", "LOCALHOST", "[::1]:99"])
def test_loopback_names_are_answered(ask, host):
    assert ask("GET", "/pools/pool1", host=host).status == 200


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("evil.example:80", "InvalidHeaderValue"),
        ("127.0.0.1.evil.example", "InvalidHeaderValue"),
        ("[::2]", "InvalidHeaderValue"),
        (None, "HostInformationNotPresent"),
    ],
)
def test_other_hosts_are_refused_before_anything_else(ask, host, code):
    answer = ask("GET", "/pools/pool1", host=host, authorization="")
    assert (answer.status, answer.code) == (400, code)


@pytest.mark.parametrize("host", ['127.0.0.1:1","code":"', "evil.example", "127.0.0.1:1\\", "\xe9"])
def test_what_a_client_calls_the_service_never_shows_in_a_refusal(ask, host):
    answer = ask("GET", "/nothing", host=host)
    assert answer.json["odata.metadata"].startswith("http://127.0.0.1:1/$metadata#")
    assert answer.code in {"InvalidUri", "InvalidHeaderValue"}


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        ("GET", "/", 400, "InvalidUri"),
        ("GET", "/pool", 400, "InvalidUri"),
        ("GET", "/pools/", 400, "InvalidUri"),
        ("GET", "/pools/%ff", 400, "InvalidUri"),
        ("GET", "/pools/pool1/nodes/n/files/a/b", 400, "InvalidUri"),
        ("PUT", "/pools/pool1", 405, "UnsupportedHttpVerb"),
        ("GET", "/pools/pool1?colour=red", 400, "UnsupportedQueryParameter"),
        ("GET", "/pools/pool1?timeOut=soon", 400, "InvalidQueryParameterValue"),
        ("GET", "/pools/pool1?$expand=children", 400, "InvalidQueryParameterValue"),
        ("GET", "/pools/pool1?$select=id,colour", 400, "InvalidQueryParameterValue"),
        ("GET", "/pools?$filter=colour%20eq%20%27red%27", 400, "InvalidQueryParameterValue"),
        ("GET", "/pools?$skiptoken=abcd", 400, "InvalidQueryParameterValue"),
        ("GET", "/poolusagemetrics", 400, "PoolUsageMetricAPIRetired"),
    ],
)
def test_wrong_requests_get_the_services_codes(ask, method, target, status, code):
    answer = ask(method, target)
    assert (answer.status, answer.code) == (status, code)


def test_select_leaves_the_named_properties_in(ask):
    assert set(ask("GET", "/pools/pool1?$select=id,%20state").json) == {"odata.metadata", "id", "state"}
    listed = ask("GET", "/pools?$select=id").json["value"]
    assert listed == [{"id": f"pool{number}"} for number in range(5)]


def test_expand_stats_adds_nothing(ask):
    assert ask("GET", "/pools/pool1?$expand=stats").json == ask("GET", "/pools/pool1").json


def test_pages_follow_each_other_with_all_the_query(ask):
    first = ask("GET", "/pools?maxresults=2&$select=id&timeOut=30")
    assert [pool["id"] for pool in first.json["value"]] == ["pool0", "pool1"]
    link = first.json["odata.nextLink"]
    assert link.startswith(
        "http://127.0.0.1:1/pools?api-version=2025-06-01&maxresults=2&$select=id&timeOut=30"
    )
    second = ask("GET", link.removeprefix("http://127.0.0.1:1")).json
    assert [pool["id"] for pool in second["value"]] == ["pool2", "pool3"]
    assert second["odata.nextLink"].count("$skiptoken") == 1
    last = ask("GET", second["odata.nextLink"].removeprefix("http://127.0.0.1:1")).json
    assert [pool["id"] for pool in last["value"]] == ["pool4"]
    assert "odata.nextLink" not in last


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("-5", "MaxResults cannot be less than 1"),
        ("0", "MaxResults cannot be less than 1"),
        ("1001", "MaxResults cannot be greater than 1000"),
        ("many", "MaxResults must be a whole number"),
    ],
)
def test_page_sizes_out_of_range_are_refused(ask, number, reason):
    answer = ask("GET", f"/pools?maxresults={number}")
    assert (answer.status, answer.code) == (400, "InvalidQueryParameterValue")
    assert answer.values == {
        "QueryParameterName": "maxresults",
        "QueryParameterValue": number,
        "Reason": reason,
    }


def test_filters_reach_the_engine_with_their_hints(ask, engine):
    answer = ask("GET", "/pools?$filter=id%20eq%20%27POOL3%27%20and%20state%20eq%20%27active%27")
    assert [pool["id"] for pool in answer.json["value"]] == ["pool3"]
    assert engine.asked == [{"id": "pool3", "state": "active"}]


@pytest.mark.parametrize("quoted", [ETAG, f'"{ETAG}"', "*"])
def test_conditions_on_the_tag(ask, engine, quoted):
    assert ask("PATCH", "/pools/pool1", {}, if_match=quoted).status == 200
    refused = ask("PATCH", "/pools/pool1", {}, if_none_match=quoted)
    assert (refused.status, refused.code) == (412, "ConditionNotMet")
    assert ask("GET", "/pools/pool1", if_match=quoted).status == 200
    unchanged = ask("GET", "/pools/pool1", if_none_match=quoted)
    assert (unchanged.status, unchanged.body) == (304, b"")
    assert len(engine.asked) == 1


def test_a_stale_tag_changes_nothing(ask, engine):
    for method, target, body in (("PATCH", "/pools/pool1", {}), ("DELETE", "/pools/pool1", None)):
        assert ask(method, target, body, if_match='"0x0"').code == "ConditionNotMet"
    assert ask("GET", "/pools/pool1", if_none_match='"0x0"').status == 200
    assert engine.asked == []


@pytest.mark.parametrize(
    ("header", "date", "get", "patch"),
    [
        ("if_modified_since", "Thu, 16 Jan 2025 18:44:40 GMT", 200, 200),
        ("if_modified_since", "Thu, 16 Jan 2025 18:44:41 GMT", 304, 412),
        ("if_unmodified_since", "Thu, 16 Jan 2025 18:44:41 GMT", 200, 200),
        ("if_unmodified_since", "Thu, 16 Jan 2025 18:44:40 GMT", 412, 412),
        ("if_unmodified_since", "yesterday", 400, 400),
    ],
)
def test_conditions_on_the_time(ask, header, date, get, patch):
    assert ask("GET", "/pools/pool1", **{header: date}).status == get
    assert ask("PATCH", "/pools/pool1", {}, **{header: date}).status == patch


def test_several_conditions_are_refused(ask):
    answer = ask("GET", "/pools/pool1", if_match="*", if_modified_since="Thu, 16 Jan 2025 18:44:40 GMT")
    assert answer.code == "MultipleConditionHeadersNotSupported"


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (b"{", {}, "InvalidRequestBody"),
        (b"[]", {}, "InvalidRequestBody"),
        (b"", {}, "InvalidRequestBody"),
        (b'{"id": "\xff"}', {}, "InvalidRequestBody"),
        (b"{}", {}, "MissingRequiredProperty"),
        (b"{}", {"content_type": "text/plain"}, "InvalidHeaderValue"),
        (b"{}", {"content_type": None}, "MissingRequiredHeader"),
        (b'{"id": "p", "vmSize": "a", "colour": 1}', {}, "UnsupportedProperty"),
    ],
)
def test_wrong_bodies_get_the_services_codes(ask, engine, body, headers, code):
    answer = ask("POST", "/pools", body, **headers)
    assert (answer.status, answer.code) == (400, code)
    assert engine.asked == []


def test_an_optional_body_may_be_missing_and_a_charset_may_be_named(ask):
    kind = "application/json; odata=minimalmetadata; charset=utf-8"
    assert ask("POST", "/pools", POOL, content_type=kind).status == 201


def test_a_body_over_one_megabyte_names_the_limit(ask):
    task = {"id": "t", "commandLine": "x" * 1_048_576}
    answer = ask("POST", "/jobs/j/addtaskcollection", {"value": [task]})
    assert (answer.status, answer.code, answer.values) == (
        413,
        "RequestBodyTooLarge",
        {"MaxLimit": "1048576"},
    )


def test_the_clients_request_id_comes_back_only_if_asked(ask):
    asked = ask("GET", "/pools/pool1", client_request_id="abc", return_client_request_id="true")
    assert asked.headers["client-request-id"] == "abc"
    assert "client-request-id" not in ask("GET", "/pools/pool1", client_request_id="abc").headers


pieces = st.sampled_from(
    ["pools", "pool1", "jobs", "j", "tasks", "files", "nodes", "%2F", "..", "%00", "", "$metadata", "é"]
) | st.text(alphabet="abc/%&=$'\"\\ \x7f", max_size=6)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]),
    st.lists(pieces, max_size=6),
    st.lists(
        st.tuples(st.sampled_from(["$filter", "$select", "maxresults", "timeOut", "x"]), pieces), max_size=3
    ),
    st.binary(max_size=30) | st.none(),
)
def test_whatever_is_asked_there_is_an_answer_and_it_is_no_crash(ask, method, path, query, body):
    target = "/" + "/".join(path) + "?" + "&".join(f"{name}={value}" for name, value in query)
    answer = ask(method, target.encode("utf-8").decode("latin-1"), body)
    assert answer.status < 500 or answer.code == "NotImplemented"
