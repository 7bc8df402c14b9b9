"""`kafkalet.broker.config.dynamic`: refused changes of broker properties, with the messages of Kafka 3.9 and 4.4."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.dynamic import check_change
from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError

LOG_DIR = "/data"


def check(release: str, *, cluster_wide: bool = True, static: dict[str, str] | None = None, **texts: str) -> None:
    config = BrokerConfig(static, Release.of(release))
    named = {name.replace("_", "."): value for name, value in texts.items()}
    check_change(named, cluster_wide=cluster_wide, config=config, log_dirs=[LOG_DIR])


def refusal(release: str, *, cluster_wide: bool = True, static: dict[str, str] | None = None, **texts: str) -> str:
    with pytest.raises(KafkaError) as refused:
        check(release, cluster_wide=cluster_wide, static=static, **texts)
    assert refused.value.code == Code.INVALID_REQUEST
    return refused.value.message or ""


def refused_by_component(message: str) -> str:
    exception = "org.apache.kafka.common.config.ConfigException"
    return f"Invalid value {exception}: {message} for configuration Invalid dynamic configuration"


@pytest.mark.parametrize("release", ["3.9", "4.4"])
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("background_threads", 1),
        ("log_cleaner_backoff_ms", 0),
        ("log_cleaner_io_buffer_size", 0),
        ("log_cleaner_threads", 0),
        ("max_connection_creation_rate", 0),
        ("num_io_threads", 1),
        ("num_network_threads", 1),
        ("num_recovery_threads_per_data_dir", 1),
        ("remote_fetch_max_wait_ms", 1),
        ("log_flush_interval_messages", 1),
        ("log_index_size_max_bytes", 4),
        ("leader_replication_throttled_rate", 0),
    ],
)
def test_value_below_the_bound_is_refused(release: str, name: str, least: int) -> None:
    full = name.replace("_", ".")
    message = refusal(release, **{name: str(least - 1)})
    assert message == f"Invalid value {least - 1} for configuration {full}: Value must be at least {least}"


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
def test_thread_pool_at_most_doubles_or_halves(release: str) -> None:
    failed = "Dynamic thread count update validation failed for num.io.threads"
    less, more = (
        f"{failed}=3, value should be at least half the current value 8",
        f"{failed}=17, value should not be greater than double the current value 8",
    )
    assert refusal(release, num_io_threads="3") == refused_by_component(less)
    assert refusal(release, num_io_threads="17") == refused_by_component(more)
    for allowed in ("4", " 7 ", "16"):
        check(release, num_io_threads=allowed)


def test_size_of_a_thread_pool_is_compared_with_the_current_value() -> None:
    config = BrokerConfig({}, Release.of("3.9"))
    config.reconfigure({"num.io.threads": "16"}, {})
    check_change({"num.io.threads": "32"}, cluster_wide=True, config=config, log_dirs=[LOG_DIR])
    with pytest.raises(KafkaError, match="double the current value 16"):
        check_change({"num.io.threads": "33"}, cluster_wide=True, config=config, log_dirs=[LOG_DIR])


def test_replica_fetchers_have_a_bound_instead_of_the_pool_rule_since_4_2() -> None:
    failed = "Dynamic thread count update validation failed for num.replica.fetchers=0, value should be at least 1"
    assert refusal("3.9", num_replica_fetchers="0") == refused_by_component(failed)
    bound = "Invalid value 0 for configuration num.replica.fetchers: Value must be at least 1"
    assert refusal("4.4", num_replica_fetchers="0") == bound


def test_cleaner_threads_require_buffer_memory_and_at_most_double() -> None:
    too_little = "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    assert refusal("3.9", log_cleaner_threads="1000000") == too_little
    assert refusal("3.9", log_cleaner_dedupe_buffer_size="1000000") == too_little
    assert refusal("3.9", log_cleaner_threads="0") == "/ by zero"
    step = "Log cleaner threads cannot be increased to more than double the current value 1"
    assert refusal("3.9", log_cleaner_threads="3") == refused_by_component(step)
    check("3.9", log_cleaner_threads="2")


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
def test_connection_limits_must_allow_connections(release: str) -> None:
    assert refusal(release, max_connections="0") == refused_by_component("Invalid max.connections 0")
    assert refusal(release, max_connection_creation_rate="0") == refused_by_component(
        "Invalid max.connection.creation.rate 0"
    )
    needs_overrides = (
        "requirement failed: max.connections.per.ip can be set to zero only if "
        "max.connections.per.ip.overrides property is set."
    )
    assert refusal(release, max_connections_per_ip="0") == needs_overrides
    check(release, max_connections_per_ip="0", max_connections_per_ip_overrides="127.0.0.1:1")


def test_local_retention_must_not_exceed_the_total_retention() -> None:
    name = "log.local.retention.ms"
    unlimited = f"Invalid value -1 for configuration {name}: Value must not be -1 as log.retention.ms value is set as "
    assert refusal("3.9", log_local_retention_ms="-1") == refused_by_component(f"{unlimited}604800000.")
    more = f"Invalid value 604800001 for configuration {name}: Value must not be more than "
    assert refusal("3.9", log_local_retention_ms="604800001") == refused_by_component(
        f"{more}log.retention.ms property value: 604800000"
    )
    check("3.9", log_local_retention_ms="604800001", log_retention_ms="-1")


def test_remote_copy_lag_must_not_exceed_the_local_retention() -> None:
    over = "Invalid value 604800001 for configuration log.remote.copy.lag.ms: Value must not exceed "
    assert refusal("4.4", log_remote_copy_lag_ms="604800001") == refused_by_component(
        f"{over}log.local.retention.ms (effective value: 604800000)"
    )


@pytest.mark.parametrize(("value", "rule"), [("0", "or, greater than or equal to 1"), ("-2", "")])
def test_negative_retention_means_no_limit_and_zero_is_refused(value: str, rule: str) -> None:
    if rule:
        assert refusal("3.9", log_retention_ms=value).endswith(rule)
    else:
        check("3.9", log_retention_ms=value)
        assert BrokerConfig({"log.retention.ms": value}).log_config({}).retention_ms == -1


def test_negative_flush_interval_is_accepted() -> None:
    check("3.9", log_flush_interval_ms="-5")
    assert BrokerConfig({"log.flush.interval.ms": "-5"}).log_config({}).flush_ms == 0


def test_assignment_interval_of_groups_must_not_exceed_its_maximum() -> None:
    name = "group.consumer.assignment.interval.ms"
    message = f"{name} must be less than or equal to group.consumer.max.assignment.interval.ms"
    assert refusal("4.4", group_consumer_assignment_interval_ms="15001") == message
    check("4.4", group_consumer_assignment_interval_ms="15000")


def test_unknown_metric_reporter_is_refused() -> None:
    assert "kafka.server.DynamicMetricsReporters" in refusal("3.9", metric_reporters="x")
    check("3.9", metric_reporters="org.apache.kafka.common.metrics.JmxReporter")


def test_names_of_static_properties_are_formatted_as_in_the_release() -> None:
    assert refusal("3.9", num_partitions="3") == "Cannot update these configs dynamically: Set(num.partitions)"
    assert refusal("4.4", num_partitions="3") == "Cannot update these configs dynamically: [num.partitions]"


def test_keystore_can_only_change_per_listener() -> None:
    message = refusal("3.9", cluster_wide=False, ssl_keystore_type="JKS")
    assert message.endswith("using the listener prefix: HashSet(ssl.keystore.type)")
    for name in ("ssl_protocol", "ssl_cipher_suites", "listener_name_external_ssl_keystore_type"):
        check("3.9", cluster_wide=False, **{name: "x"})


def test_per_broker_property_cannot_change_cluster_wide() -> None:
    assert refusal("3.9", listeners="x").endswith("broker id must be specified: Set(listeners)")
    unreadable = "Error creating broker listeners from 'x': Unable to parse x to a broker endpoint"
    assert refusal("3.9", cluster_wide=False, listeners="x") == unreadable
    check("3.9", cluster_wide=False, listeners="PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9093")


def test_unknown_security_protocol_is_refused() -> None:
    message = "Invalid security protocol `3` defined in listener.security.protocol.map"
    assert refusal("3.9", cluster_wide=False, listener_security_protocol_map="a:3") == message
    check("3.9", cluster_wide=False, listener_security_protocol_map="A:PLAINTEXT,B:SASL_SSL")


def test_class_is_not_found() -> None:
    message = "Invalid value x for configuration principal.builder.class: Class x could not be found."
    assert refusal("4.4", cluster_wide=False, principal_builder_class="x") == message


def test_duplicates_in_a_list_are_refused_since_4_4() -> None:
    check("4.3", log_cleanup_policy="delete,delete")
    message = "Configuration 'log.cleanup.policy' values must not be duplicated."
    assert refusal("4.4", log_cleanup_policy="delete,delete") == message


def test_cordoned_directory_must_be_a_log_directory_of_the_broker() -> None:
    check("4.4", cluster_wide=False, cordoned_log_dirs=LOG_DIR)
    message = refusal("4.4", cluster_wide=False, cordoned_log_dirs="/other")
    assert message.endswith("Missing entries : /other")
    assert refusal("4.4", cordoned_log_dirs=LOG_DIR).endswith("broker id must be specified: [cordoned.log.dirs]")
