"""The test kit for asyncio: the same classes as in kafkalet, with awaitable methods.

    async with kafkalet.aio.Broker() as kafka:             in the running event loop
        await publish(kafka.bootstrap_servers)
        [record] = await kafka.topic("orders").wait_for(1)

Attributes, and methods that only return an object of the kit, such as `topic`, are used without `await`. All other
methods run in a worker thread, so that the event loop continues to run the broker and its clients. Cancelling a task
ends its wait. The members of the classes are derived (see kafkalet/testing/mirror.py); aio.pyi has their types, and is
written by `python -m tools.aio_stub`.
"""

from typing import Any, Self

from kafkalet.broker.arguments import shown
from kafkalet.clock import MovableClock
from kafkalet.testing import cluster as sync
from kafkalet.testing import faults, group, hold, nodes, requests, security, share_group, topic, transaction
from kafkalet.testing.mirror import Mirror


class Topic(Mirror, of=topic.Topic, direct="leader leader_epoch isr log offsets replicas"):
    """A topic; see `kafkalet.testing.topic.Topic`."""


class Fault(Mirror, of=faults.Fault):
    """A fault; see `kafkalet.testing.faults.Fault`. Use it with `async with`."""


class Group(Mirror, of=group.Group):
    """A consumer group; see `kafkalet.testing.group.Group`."""


class ShareGroup(Mirror, of=share_group.ShareGroup, direct="start_offset deliveries"):
    """A share group; see `kafkalet.testing.share_group.ShareGroup`."""


class Transaction(Mirror, of=transaction.Transaction):
    """The transaction of a transactional id; see `kafkalet.testing.transaction.Transaction`."""


class OpenTransaction(Mirror, of=transaction.OpenTransaction):
    """A transaction without a client; see `kafkalet.testing.transaction.OpenTransaction`. Use it with `async with`."""


class Hold(Mirror, of=hold.Hold):
    """A condition; see `kafkalet.testing.hold.Hold`. Use it with `async with`, or await `release`."""


class BrokerNode(Mirror, of=nodes.BrokerNode):
    """A single broker; see `kafkalet.testing.nodes.BrokerNode`."""


class Clock(Mirror, of=MovableClock, direct="now now_ms"):
    """The clock of a cluster; see `kafkalet.testing.clock.Clock`."""


class Requests(Mirror, of=requests.Requests, direct="filter between"):
    """The requests of clients; see `kafkalet.testing.requests.Requests`."""


class Acls(Mirror, of=security.Acls):
    """The ACLs of a cluster; see `kafkalet.testing.security.Acls`."""


class Users(Mirror, of=security.Users):
    """The users who can log in with a password; see `kafkalet.testing.security.Users`."""


class Cluster(
    Mirror,
    of=sync.Cluster,
    direct="bootstrap_servers_of broker brokers fault group groups now_ms open_transaction refuse_connections "
    "share_group share_groups topic topics transaction transactions",
    without="start stop",
):
    """A cluster in the running event loop; see `kafkalet.testing.cluster.Cluster`. Use it with `async with`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """The options are those of `kafkalet.Cluster`."""
        cluster = self._of(*args, **options)
        super().__init__(cluster, cluster)

    @classmethod
    def around(cls, cluster: sync.Cluster) -> Self:
        """Return the asynchronous methods of a cluster that is already running, such as that of a pytest fixture."""
        if not isinstance(cluster, sync.Cluster):
            raise TypeError(f"around() takes a kafkalet.Broker or kafkalet.Cluster, not {shown(cluster)}")
        made = cls.__new__(cls)
        Mirror.__init__(made, cluster, cluster)
        return made


class Broker(Cluster, of=sync.Broker):
    """A cluster of one broker; see `kafkalet.testing.cluster.Broker`."""
