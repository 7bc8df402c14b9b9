"""`kafkalet container`: runs brokers with the environment variables of the image `apache/kafka`.

    KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092     the property advertised.listeners
    KAFKA_LISTENERS, KAFKA_NUM_PARTITIONS, ...                others: _ is a dot, __ an underscore, ___ a hyphen
    CLUSTER_ID                                                the cluster id of a new data directory
    KAFKA_LOG_DIRS                                            the log directories; a temporary one if unset
    KAFKA_HEAP_OPTS, KAFKA_OPTS, KAFKA_LOG4J_*, ...           ignored, as they are for Java

Without listeners in the environment, the broker listens on port 9092 of every interface and advertises
KAFKALET_ADVERTISE, by default localhost:9092. The file /mnt/shared/config/server.properties is read if it exists;
variables take precedence. Arguments that are options go to `kafkalet serve`; other arguments are a command, which
replaces this process, as in `docker run IMAGE sh -c ...`.

Some tools wait until Kafka logs that it has started. After the ready line, a line quotes those messages.

Source: docker/resources/common-scripts/configure, kafka.docker.KafkaDockerWrapper.
"""

import os
from collections.abc import Mapping, Sequence

from .command_line import Failure, UsageError, parse, print_line
from .serve import SERVE_OPTIONS, Serve, Starter, serve

MOUNTED = "/mnt/shared/config/server.properties"
SECRETS = "/etc/kafka/secrets"
READY_FILE = "/tmp/ready"  # noqa: S108 - a fixed path in the image, for its health check
ADVERTISE = "KAFKALET_ADVERTISE"
PREFIX = "KAFKA_"

IGNORED = frozenset(
    {
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_DEBUG",
        "KAFKA_REST_BOOTSTRAP_SERVERS",
    }
)
"""Variables that are not properties (KafkaDockerWrapper.ExcludeServerPropsEnv, confluentinc/confluent-local)."""
IGNORED_PREFIXES = ("KAFKA_LOG4J_", "KAFKA_CONFLUENT_")

WORDS_OF_KAFKA = (
    "kafkalet is ready; for tools that wait for messages of Apache Kafka: Transitioning from RECOVERY to RUNNING; "
    "Kafka Server started; [KafkaServer id={node_id}] started"
)


def main(arguments: Sequence[str], parent_id: int, environment: Mapping[str, str] | None = None) -> int:
    """Run the brokers, or the command in the arguments, and return the exit status."""
    environment = os.environ if environment is None else environment
    if arguments and not arguments[0].startswith("-"):
        return _execute(arguments)
    options = options_of(arguments, environment)
    return serve(options, ContainerStarter(parent_id, options))


def options_of(arguments: Sequence[str], environment: Mapping[str, str]) -> Serve:
    """Return the options of `serve` from the arguments, and those that the environment adds."""
    given = parse(arguments, SERVE_OPTIONS, "container")
    properties = properties_of(environment)
    _check_roles(properties)
    mounted = _path(environment, MOUNTED)
    if os.path.exists(mounted):
        given["config"] = [mounted, *given.get("config", [])]
    if properties:
        given["set"] = [*(f"{name}={value}" for name, value in properties.items()), *given.get("set", [])]
    given.setdefault("ready-file", [_path(environment, READY_FILE)])
    options = Serve.of(given, ("0.0.0.0", 9092))  # noqa: S104 - reachable from outside of the container
    if options.advertise is None and "advertised.listeners" not in options.properties:
        address = environment.get(ADVERTISE) or "localhost:9092"
        if "listeners" not in options.properties or ADVERTISE in environment:
            options = options._replace(advertise=Serve.of({"advertise": [address]}).advertise)
    return options._replace(cluster_id=environment.get("CLUSTER_ID") or None)


def properties_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of Kafka in the environment."""
    variables = dict(environment)
    advertised = variables.get("KAFKA_ADVERTISED_LISTENERS", "")
    if advertised and not variables.get("KAFKA_LISTENERS"):
        variables["KAFKA_LISTENERS"] = ",".join(map(_on_every_interface, advertised.split(",")))
    elif not variables.get("KAFKA_LISTENERS"):
        variables.pop("KAFKA_LISTENERS", None)
    if not advertised:
        variables.pop("KAFKA_ADVERTISED_LISTENERS", None)
    _read_secrets(variables)
    properties = {
        property_name(name): value
        for name, value in variables.items()
        if name.startswith(PREFIX) and name not in IGNORED and not name.startswith(IGNORED_PREFIXES)
    }
    properties.pop("", None)
    return properties


def property_name(variable: str) -> str:
    """Return the property that a variable sets, as in `KAFKA_LOG_RETENTION_MS` for `log.retention.ms`."""
    words = variable.removeprefix(PREFIX).lower().replace("_", ".")
    return words.replace("...", "-").replace("..", "_")


def _on_every_interface(listener: str) -> str:
    name, scheme, address = listener.strip().partition("://")
    return f"{name}{scheme}0.0.0.0:{address.rpartition(':')[2]}"


def _read_secrets(variables: dict[str, str]) -> None:
    """Replace the names of files in the directory of secrets with paths and passwords, as the script `configure`."""
    directory = _path(variables, SECRETS)
    for store in ("KEYSTORE", "TRUSTSTORE"):
        if name := variables.pop(f"KAFKA_SSL_{store}_FILENAME", ""):
            variables[f"KAFKA_SSL_{store}_LOCATION"] = f"{directory}/{name}"
    for secret, target in (
        ("KEY", "KAFKA_SSL_KEY_PASSWORD"),
        ("KEYSTORE", "KAFKA_SSL_KEYSTORE_PASSWORD"),
        ("TRUSTSTORE", "KAFKA_SSL_TRUSTSTORE_PASSWORD"),
    ):
        variable = f"KAFKA_SSL_{secret}_CREDENTIALS"
        if name := variables.pop(variable, ""):
            try:
                with open(f"{directory}/{name}", encoding="utf-8") as file:
                    variables[target] = file.read().rstrip("\n")
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "it is not UTF-8"
                raise UsageError(f"{variable}: cannot read {directory}/{name}: {reason}") from error


def _check_roles(properties: Mapping[str, str]) -> None:
    """Raise UsageError for clusters of several containers, because each container would be a separate cluster."""
    if properties.get("process.roles", "").strip() == "controller":
        raise UsageError(
            "KAFKA_PROCESS_ROLES=controller: kafkalet has no separate controllers; remove this container, and run one "
            "container with brokers (--brokers N for several)"
        )
    voters = [voter for voter in properties.get("controller.quorum.voters", "").split(",") if voter.strip()]
    if len(voters) > 1:
        raise UsageError(
            f"KAFKA_CONTROLLER_QUORUM_VOTERS names {len(voters)} nodes, but a container of kafkalet is a whole "
            "cluster; run one container with --brokers N instead"
        )


def _path(environment: Mapping[str, str], path: str) -> str:
    """Return a path of the image. Tests set another root."""
    return environment.get("KAFKALET_ROOT", "") + path


def _execute(command: Sequence[str]) -> int:
    try:
        os.execvp(command[0], list(command))  # noqa: S606 - the user's own command
    except (OSError, ValueError) as error:
        raise Failure(f"{command[0]}: {getattr(error, 'strerror', None) or error}") from error


class ContainerStarter(Starter):
    """After the ready line, prints the messages of Kafka for which some tools wait."""

    def __init__(self, parent_id: int, options: Serve) -> None:
        super().__init__(parent_id)
        properties = options.properties
        self._node_id = properties.get("node.id") or properties.get("broker.id") or "1"

    def ready(self, bootstrap_servers: str, listeners: Mapping[str, str], control_url: str | None) -> None:
        super().ready(bootstrap_servers, listeners, control_url)
        print_line(WORDS_OF_KAFKA.format(node_id=self._node_id))
