"""kafkalet: a Kafka broker for tests.

    with kafkalet.Broker() as broker:
        producer = AnyKafkaClient(bootstrap_servers=broker.bootstrap_servers)

Names are imported on first use, so that `import kafkalet` is fast.
"""

from kafkalet.version import VERSION as __version__

TYPE_CHECKING = False  # `typing` is not imported: it would take most of the time of `import kafkalet`
if TYPE_CHECKING:
    from typing import Any

    from kafkalet import aio
    from kafkalet.broker.cluster.new_topics import NewTopic
    from kafkalet.broker.network.faults.rule import DROP
    from kafkalet.broker.security.acl import Acl
    from kafkalet.testing.clock import Clock
    from kafkalet.testing.cluster import Broker, Cluster
    from kafkalet.testing.decorator import with_broker
    from kafkalet.testing.record import ANY, NewRecord

__all__ = [
    "ANY",
    "DROP",
    "Acl",
    "Broker",
    "Clock",
    "Cluster",
    "NewRecord",
    "NewTopic",
    "__version__",
    "aio",
    "with_broker",
]

_HOMES = {
    "ANY": "kafkalet.testing.record",
    "DROP": "kafkalet.broker.network.faults.rule",
    "Acl": "kafkalet.broker.security.acl",
    "Broker": "kafkalet.testing.cluster",
    "Clock": "kafkalet.testing.clock",
    "Cluster": "kafkalet.testing.cluster",
    "NewRecord": "kafkalet.testing.record",
    "NewTopic": "kafkalet.broker.cluster.new_topics",
    "aio": "kafkalet.aio",
    "with_broker": "kafkalet.testing.decorator",
}


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'kafkalet' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(_HOMES[name])
    value = module if module.__name__ == f"kafkalet.{name}" else getattr(module, name)
    globals()[name] = value
    return value
