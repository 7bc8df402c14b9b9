"""Tests of the routes of faults; real producers run into them."""

import threading
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.wire.control.asking import Asking


def produce(api: Asking, value: str = "x") -> Producer:
    producer = Producer(
        {"bootstrap.servers": api.cluster.bootstrap_servers, "client.id": "app", "retry.backoff.ms": 10}
    )
    producer.produce("t", value)
    producer.flush()
    return producer


def test_fault_fires_and_is_counted(api: Asking) -> None:
    fault = api.post("/v1/faults", {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2})
    assert (fault["fired"], fault["options"]) == (0, {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2})
    produce(api)
    assert api.post(f"/v1/faults/{fault['id']}/wait", {"n": 2})["fired"] == 2
    removed = api.ask("DELETE", f"/v1/faults/{fault['id']}").json
    assert (removed["fired"], removed["unfired"], len(removed["seen"])) == (2, None, 2)
    assert api.get("/v1/faults") == {"faults": []}
    assert api.ask("GET", f"/v1/faults/{fault['id']}").status == 404


def test_request_on_which_a_fault_has_fired_has_its_id(api: Asking) -> None:
    fault = api.post("/v1/faults", {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 1})
    produce(api)
    api.ask("DELETE", "/v1/faults")
    requests = api.get("/v1/requests?apis=Produce")["requests"]
    assert [request["fault"] for request in requests] == [fault["id"], None]


def test_unfired_fault_describes_the_requests_instead(api: Asking) -> None:
    api.post("/v1/faults", {"api": ["Produce"], "delay": 0.1, "topic": "other", "version": 3, "max_version": 12})
    produce(api)
    [removed] = api.ask("DELETE", "/v1/faults").json["faults"]
    assert removed["fired"] == 0
    assert "never fired" in removed["unfired"]
    assert "all requests in the meantime" in removed["unfired"]
    assert api.get("/v1/faults") == {"faults": []}


def test_held_requests_are_released(api: Asking) -> None:
    fault = api.post("/v1/faults", {"api": "Produce", "hang": True})
    producing = threading.Thread(target=lambda: produce(api))
    producing.start()
    api.post(f"/v1/faults/{fault['id']}/wait")
    assert api.get("/v1/topics/t/records")["records"] == []
    api.post(f"/v1/faults/{fault['id']}/release")
    producing.join(10)
    assert [record["value"] for record in api.get("/v1/topics/t/records")["records"]] == ["x"]


def test_response_is_patched(api: Asking) -> None:
    operations = [{"op": "replace", "path": "/throttle_time_ms", "value": 7}]
    fault = api.post("/v1/faults", {"api": "Produce", "respond": operations})
    assert fault["options"] == {"api": "Produce", "respond": [{**operations[0]}]}
    produce(api)
    [request] = api.get("/v1/requests?apis=Produce&messages=true")["requests"]
    assert request["response"]["throttle_time_ms"] == 7


def test_faults_are_listed_in_order(api: Asking) -> None:
    first = api.post("/v1/faults", {"api": "Fetch", "throttle": 0.005})
    second = api.post("/v1/faults", {"drop_response": True, "client_id": "nobody", "probability": 0.5, "seed": 7})
    assert [fault["id"] for fault in api.get("/v1/faults")["faults"]] == [first["id"], second["id"]]
    assert "client_id='nobody'" in second["text"]
    assert api.get(f"/v1/faults/{first['id']}") == first


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 422, "a fault without an effect"),
        ({"api": "Prodduce", "delay": 1}, 422, "unknown API 'Prodduce'; did you mean Produce"),
        ({"api": "Produce", "error": "NOT_LEADER"}, 422, "unknown error 'NOT_LEADER'"),
        ({"api": "Produce", "dellay": 1}, 400, "the body has an unknown field 'dellay'; did you mean delay?"),
        ({"api": "Produce", "delay": "1"}, 400, "delay must be a number, not '1'"),
        ({"api": "Produce", "delay": 0}, 422, "delay is 0.0; it must be greater than 0"),
        ({"delay": 1, "max_version": 3}, 422, "max_version is 3, but version is missing"),
        ({"delay": 1, "version": 4, "max_version": 3}, 422, "version is an empty range"),
        ({"disconnect": "now"}, 400, "disconnect is 'now'; it must be before or after"),
    ],
)
def test_impossible_fault_is_refused(api: Asking, body: Any, status: int, message: str) -> None:
    answer = api.ask("POST", "/v1/faults", body)
    assert (answer.status, answer.message[: len(message)]) == (status, message)
    assert api.get("/v1/faults") == {"faults": []}


def test_wait_for_a_fault_that_does_not_fire_times_out(api: Asking) -> None:
    fault = api.post("/v1/faults", {"api": "Fetch", "delay": 1})
    assert api.ask("POST", f"/v1/faults/{fault['id']}/wait", {"timeout": 0}).status == 408


def test_list_of_more_apis_than_there_are_is_refused(api: Asking) -> None:
    answer = api.ask("POST", "/v1/faults", {"api": ["Fetch"] * 1000, "delay": 1})
    assert (answer.status, "api has 1000 elements" in answer.message) == (400, True)
