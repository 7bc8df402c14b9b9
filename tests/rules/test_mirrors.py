"""The tests mirror the source, and each served API has its message module, its handler and its tests.

An API is tested by a test file or by enough cases in the recorded transcripts.
"""

from collections import Counter
from functools import cache
from pathlib import Path

from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet_conformance.transcripts import load, names
from tests.source import CONFORMANCE, MODULES, ROOT, SOURCE, SPARK, TOOLS, name_of, package_of

from .every import for_every

KINDS = {
    SOURCE: [ROOT / "tests" / kind for kind in ("unit", "wire", "recorded")],
    CONFORMANCE: [ROOT / "tests" / kind for kind in ("unit", "wire", "recorded")],
    TOOLS: [ROOT / "tests" / kind for kind in ("unit", "wire", "recorded")],
    SPARK: [ROOT / "spark" / "tests" / kind for kind in ("unit", "wire", "spark")],
}
"""The directories of tests of each package that mirror it."""
APIS = SOURCE / "broker" / "apis"
OFTEN = 5
ELSEWHERE: dict[str, str] = {
    "broker.apis.parts.described_groups": "broker/apis/test_share_group_describe.py",
    "broker.apis.parts.error_texts": "broker/apis/test_alter_share_group_offsets.py",
    "broker.apis.parts.requirements": "broker/apis/test_share_group_heartbeat.py",
    "broker.apis.parts.share_requests": "broker/apis/test_share_acknowledge.py",
    "broker.apis.parts.share_state": "broker/apis/test_write_share_group_state.py",
    "broker.broker": "broker/test_broker_server.py",
    "broker.client": "broker/network/test_connection.py",
    "broker.cluster.assignments": "test_golden.py",
    "broker.cluster.controller": "broker/test_server.py",
    "broker.config.without_effect": "broker/config/test_catalog.py",
    "broker.config.security_properties": "broker/config/test_catalog.py",
    "broker.context": "broker/network/test_router.py",
    "broker.cluster.features": "broker/apis/test_api_versions.py",
    "broker.share.coordinator": "broker/share/test_shard.py",
    "broker.groups.administration": "testing/test_group.py",
    "broker.groups.assignors.spec": "broker/groups/assignors/test_uniform.py",
    "broker.groups.classic.consumer_protocol": "broker/groups/consumer/test_migration.py",
    "broker.groups.classic_protocol": "broker/groups/consumer/test_classic_members.py",
    "broker.groups.consumer.members": "broker/groups/consumer/test_heartbeat.py",
    "broker.groups.consumer.records": "test_golden.py",
    "broker.groups.modern.group": "broker/groups/consumer/test_group.py",
    "broker.groups.modern.members": "broker/groups/share/test_heartbeat.py",
    "broker.groups.modern.records": "broker/groups/share/test_group.py",
    "broker.groups.share.members": "broker/groups/share/test_heartbeat.py",
    "broker.groups.share.records": "broker/groups/share/test_group.py",
    "broker.groups.streams.members": "broker/groups/streams/test_heartbeat.py",
    "broker.groups.streams.records": "broker/groups/streams/test_group.py",
    "broker.regex.classes": "broker/regex/test_automaton.py",
    "broker.regex.syntax": "broker/regex/test_automaton.py",
    "broker.cluster.leadership": "broker/test_server.py",
    "broker.cluster.new_topics": "test_golden.py",
    "broker.cluster.node": "broker/test_server.py",
    "broker.cluster.partition": "broker/test_server.py",
    "broker.cluster.replication": "broker/test_server.py",
    "broker.cluster.saved_contents": "broker/test_server.py",
    "broker.network.error_responses": "broker/network/test_sasl_connection.py",
    "broker.network.listener_context": "broker/network/test_listener.py",
    "broker.network.request_text": "broker/network/test_request_log.py",
    "conformance.access": "conformance/between/test_comparing.py",
    "broker.security.tls.certificate_tools": "broker/security/tls/test_certificate_authority.py",
    "broker.security.sasl.access_token": "broker/security/sasl/test_unsecured_tokens.py",
    "broker.security.sasl.mechanism": "broker/security/sasl/test_authenticator.py",
    "conformance.building": "conformance/between/test_comparing.py",
    "conformance.clients.drivers.aiokafka": "conformance/clients/test_drivers.py",
    "conformance.clients.drivers.confluent_kafka": "conformance/clients/test_drivers.py",
    "conformance.clients.drivers.contract": "conformance/clients/test_drivers.py",
    "conformance.clients.drivers.kafka_python": "conformance/clients/test_drivers.py",
    "conformance.clients.judges.combining": "conformance/clients/test_judges.py",
    "conformance.clients.judges.consumers": "conformance/clients/test_judges.py",
    "conformance.clients.judges.ending": "conformance/clients/test_judges.py",
    "conformance.clients.judges.producers": "conformance/clients/test_judges.py",
    "conformance.clients.judges.retries": "conformance/clients/test_judges.py",
    "conformance.clients.judges.sharing": "conformance/clients/test_scenarios.py",
    "conformance.clients.judges.transforming": "conformance/clients/test_judges.py",
    "conformance.clients.scenarios.baseline": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.leaders": "conformance/clients/test_scenarios.py",
    "conformance.commands.between": "conformance/between/test_comparing.py",
    "conformance.between.shrinking": "conformance/between/test_pair.py",
    "conformance.clients.scenarios.connections": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.groups": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.idempotence": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.offsets": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.producers": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.records": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.sessions": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.shares": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.topics": "conformance/clients/test_scenarios.py",
    "conformance.clients.scenarios.versions": "conformance/clients/test_scenarios.py",
    "conformance.commands.output": "conformance/commands/test_conform.py",
    "conformance.clients.observing.finding": "conformance/clients/observing/test_observation.py",
    "conformance.clients.observing.recorder": "conformance/clients/observing/test_observation.py",
    "conformance.clients.observing.rules.catalog": "conformance/clients/observing/rules/test_rule.py",
    "conformance.clients.observing.sent": "conformance/clients/observing/test_observation.py",
    "conformance.judging.replaying": "test_golden.py",
    "conformance.notation.message_sets": "test_replayer.py",
    "conformance.notation.messages": "test_replayer.py",
    "conformance.notation.record_batches": "test_replayer.py",
    "conformance.notation.values": "test_replayer.py",
    "conformance.playing.matching": "test_replayer.py",
    "conformance.playing.placeholders": "recording/test_recorder.py",
    "conformance.playing.player": "test_golden.py",
    "conformance.playing.state_records": "test_golden.py",
    "conformance.playing.target": "test_golden.py",
    "conformance.results": "test_replayer.py",
    "control.fields": "control/test_openapi.py",
    "control.state": "control/routes/test_topics.py",
    "control.top": "commands/test_top.py",
    "broker.served": "broker/test_read_only.py",
    "commands.help": "test_cli.py",
    "embedded": "broker/test_server.py",
    "broker.views": "broker/test_server.py",
    "testing.hold": "testing/test_layout.py",
    "testing.lifetime": "testing/test_cases.py",
    "testing.lag": "testing/test_group.py",
    "testing.client_access": "testing/test_security.py",
    "testing.clients": "testing/test_report.py",
    "testing.mirror": "test_aio.py",
    "testing.nodes": "testing/test_cluster.py",
    "testing.reading": "testing/test_topic.py",
    "single_file": "commands/test_single_file.py",
    "recording.definitions": "test_replayer.py",
    "recording.index": "test_replayer.py",
    "recording.recorded_properties": "test_golden.py",
    "recording.rights": "test_golden.py",
    "reference.configuration": "reference/test_pages.py",
    "reference.releases": "reference/test_pages.py",
    "reference.spark_options": "reference/test_pages.py",
    "reference.states": "reference/test_pages.py",
    "directory_origin": "test_source.py",
    "origin": "test_source.py",
    "tasks": "test_source.py",
    "storage.acceptance": "storage/test_validation.py",
    "storage.producer_append": "storage/test_producers.py",
    "storage.producer_entry": "storage/test_producers.py",
    "storage.producer_snapshot": "storage/test_producers.py",
    "storage.rebuilding": "storage/test_validation.py",
    "storage.record_errors": "storage/test_validation.py",
    "storage.refusals": "storage/test_validation.py",
    "storage.values": "storage/test_log.py",
    "storage.verification": "storage/test_producers.py",
}
"""Modules that are tested through another module, the way their callers use them."""

MIRRORED = [
    path
    for path in MODULES
    if path.name not in ("__init__.py", "__main__.py", "version.py")
    and path.parent not in (SOURCE / "protocol" / "messages", APIS, TOOLS / "recording" / "scenarios")
    and path.parent != CONFORMANCE / "between" / "histories"
]


def is_tested_in(path: str, package: Path = SOURCE) -> bool:
    """Return whether a test file exists at this path below one of the test directories."""
    return any((kind / path).exists() for kind in KINDS[package])


def place(path: Path) -> str:
    """Return where the tests of a module are. Those of the conformance kit are in the folders `conformance`."""
    inside = name_of(path).partition(".")[2]
    return f"conformance.{inside}" if package_of(path) == CONFORMANCE else inside


def mirror(path: Path) -> str:
    inside = Path(*place(path).split(".")).with_suffix(".py")
    return inside.with_name(f"test_{inside.name}").as_posix()


@for_every(MIRRORED, name_of)
def test_every_module_has_a_test_file(path: Path) -> None:
    other = ELSEWHERE.get(place(path))
    tested = [name for name in (mirror(path), other) if name and is_tested_in(name, package_of(path))]
    assert tested, f"no {mirror(path)}"


def test_modules_listed_in_elsewhere_exist() -> None:
    assert ELSEWHERE.keys() <= set(map(place, MIRRORED))


@cache
def cases_by_api() -> Counter[str]:
    return Counter(api for name in names() for _, api, _ in load(name).apis())


@for_every(sorted(SERVED))
def test_served_api_has_messages_handler_and_tests(api: Api) -> None:
    assert (SOURCE / "protocol" / "messages" / f"{api.module}.py").exists()
    assert (APIS / f"{api.module}.py").exists()
    tests = [f"{place}/test_{api.module}.py" for place in ("behavior", "broker/apis")]
    asked = cases_by_api()[api.title]
    assert any(is_tested_in(test) for test in tests) or asked >= OFTEN, (
        f"no test_{api.module}.py, and only {asked} recorded cases"
    )


def test_every_handler_module_is_served_or_imported() -> None:
    modules = {path.stem for path in APIS.glob("*.py")} - {"__init__"}
    extra = modules - {api.module for api in SERVED}
    users = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert not [name for name in extra if f"{name} import" not in users and f"import {name}" not in users]
