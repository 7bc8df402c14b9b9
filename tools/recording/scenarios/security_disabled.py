"""APIs of security on a broker without authorizer, SASL and TLS: ACLs, delegation tokens, SCRAM credentials."""

from kafkalet_conformance.access import READ, TOPICS, acl_filter
from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_4_4, Scenarios
from tools.recording.rights import acl

scenario = Scenarios("authorization")

SHA_256, SHA_512 = 1, 2
ALICE = {"principal_type": "User", "principal_name": "alice"}
HMAC = {"hex": "00112233445566778899aabbccddeeff"}


@scenario("KIP-140 AclApis", CreateAcls=1)
def acls_without_authorizer(ask: ScenarioBuilder) -> None:
    """Without an authorizer, requests that concern ACLs fail with SECURITY_DISABLED."""
    ask.each_version("DescribeAcls", {"v#: describe": acl_filter(TOPICS, "t")})
    for v in ask.versions("CreateAcls"):
        ask.request(
            f"v{v}: create",
            "CreateAcls",
            v,
            {"creations": [acl(TOPICS, name, READ, principal="User:alice") for name in "tu"]},
        )
        ask.request(f"v{v}: create nothing", "CreateAcls", v, {"creations": []})
    for v in ask.versions("DeleteAcls"):
        ask.request(f"v{v}: delete", "DeleteAcls", v, {"filters": [acl_filter(TOPICS, "t"), acl_filter(TOPICS, None)]})
        ask.request(f"v{v}: delete nothing", "DeleteAcls", v, {"filters": []})


@scenario("KIP-48 KafkaApis", CreateDelegationToken=1)
def tokens_without_authentication(ask: ScenarioBuilder) -> None:
    """On connections without authentication, requests for delegation tokens return
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED."""
    ask.each_version("CreateDelegationToken", {"v#: create": {"renewers": [], "max_lifetime_ms": -1}})
    ask.each_version("RenewDelegationToken", {"v#: renew": {"hmac": HMAC, "renew_period_ms": -1}})
    ask.each_version("ExpireDelegationToken", {"v#: expire": {"hmac": HMAC, "expiry_time_period_ms": -1}})
    for v in ask.versions("DescribeDelegationToken"):
        ask.request(f"v{v}: describe all", "DescribeDelegationToken", v, {"owners": None})
        ask.request(f"v{v}: describe those of a user", "DescribeDelegationToken", v, {"owners": [ALICE]})


@scenario("KIP-554 ScramImage", area="configurations", DescribeUserScramCredentials=0)
def scram_describe(ask: ScenarioBuilder) -> None:
    """DescribeUserScramCredentials returns RESOURCE_NOT_FOUND for unknown users and DUPLICATE_RESOURCE for repeats."""
    a, b = ask.let("a", "c<unique>.a"), ask.let("b", "c<unique>.b")

    def describe(case: str, *users: str) -> None:
        ask.request(case, "DescribeUserScramCredentials", 0, {"users": [{"name": user} for user in users]})

    describe("unknown", a)
    describe("two unknown ones", a, b)
    describe("one twice", a, a)
    describe("one twice and another", a, b, a)
    describe("one three times", a, a, a)
    describe("empty name", "")


@scenario("KIP-554 ScramControlManager", AlterUserScramCredentials=0)
def scram_alter(ask: ScenarioBuilder) -> None:
    """AlterUserScramCredentials stores credentials, and names the error of each user that it refuses."""
    a, b, c = (ask.let(name, f"c<unique>.{name}") for name in "abc")

    def upsertion(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> Step:
        return {
            "name": user,
            "mechanism": mechanism,
            "iterations": iterations,
            "salt": "salt",
            "salted_password": "salted password",
        }

    def deletion(user: str, mechanism: int = SHA_256) -> Step:
        return {"name": user, "mechanism": mechanism}

    def alter(case: str, *upsertions: Step, deletions: tuple[Step, ...] = ()) -> None:
        body = {"deletions": list(deletions), "upsertions": list(upsertions)}
        ask.request(case, "AlterUserScramCredentials", 0, body)

    alter("nothing")
    alter("delete an unknown user", deletions=(deletion(a),))
    alter("4095 iterations", upsertion(a, iterations=4095))
    alter("16385 iterations", upsertion(a, iterations=16385))
    alter("iterations below zero", upsertion(a, iterations=-1))
    for mechanism in (0, 3, -1):
        alter(f"mechanism {mechanism}", upsertion(a, mechanism))
        alter(f"delete mechanism {mechanism}", deletions=(deletion(a, mechanism),))
    alter("user without name", upsertion(""))
    alter("delete a user without name", deletions=(deletion(""),))
    alter("one twice", upsertion(a), upsertion(a))
    alter("one with both mechanisms", upsertion(a), upsertion(a, SHA_512))
    alter("delete one twice", deletions=(deletion(a), deletion(a)))
    alter("upsert and delete one", upsertion(a), deletions=(deletion(a),))
    alter("one good and one bad", upsertion(b), upsertion(c, iterations=1))
    alter("delete the good one", deletions=(deletion(b),))
    alter("delete the other mechanism", deletions=(deletion(b, SHA_512),))
    alter("the good one again", upsertion(b, SHA_512, 8192))
    ask.request("described", "DescribeUserScramCredentials", 0, {"users": [{"name": a}, {"name": b}]})
    alter("delete it", deletions=(deletion(b, SHA_512),))


@scenario("KIP-500 ClusterControlManager", area="metadata", UnregisterBroker=0)
def unregister_unknown_broker(ask: ScenarioBuilder) -> None:
    """UnregisterBroker returns BROKER_ID_NOT_REGISTERED for a broker that is not registered."""
    for broker_id in (4711, -1):
        ask.request(f"id {broker_id}", "UnregisterBroker", 0, {"broker_id": broker_id})


@scenario("KIP-853 KafkaRaftClient", area="metadata", AddRaftVoter=0)
def raft_voters_are_static(ask: ScenarioBuilder) -> None:
    """Controllers with static voters refuse to add or remove a voter."""
    directory = ask.let("D", "0f0f0f0f-1111-4222-8333-444455556666")
    listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9999}
    for cluster, cluster_id in {"no": None, "another": "another"}.items():
        voter = {"cluster_id": cluster_id, "voter_id": 7, "voter_directory_id": directory}
        added = voter | {"timeout_ms": 1000, "listeners": [listener]}
        ask.each_version("AddRaftVoter", {f"v#: add, {cluster} cluster id": added})
        ask.request(f"remove, {cluster} cluster id", "RemoveRaftVoter", 0, voter)


@scenario("ClusterControlManager", KAFKA_4_4, area="metadata", UnregisterController=0)
def unregister_unknown_controller(ask: ScenarioBuilder) -> None:
    """UnregisterController returns an error for a controller that is not registered."""
    for controller_id in (4711, -1):
        ask.request(f"id {controller_id}", "UnregisterController", 0, {"controller_id": controller_id})
