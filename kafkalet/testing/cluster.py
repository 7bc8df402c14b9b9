"""The public classes `Broker` and `Cluster`: brokers inside a test, and all operations of the test kit.

    with kafkalet.Broker() as broker:                      in its own thread
        client = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
        broker.topic("orders").send("one")

    async with kafkalet.Cluster(brokers=3) as cluster:     in the running event loop

All methods are thread-safe. The module of each feature is imported when it is first used.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Never, Self

from kafkalet.broker import arguments
from kafkalet.broker.arguments import PropertyValue
from kafkalet.embedded import EmbeddedCluster

if TYPE_CHECKING:
    from kafkalet.broker.cluster.compaction import CleanedPartition, RetainedPartition
    from kafkalet.broker.cluster.tiering import TieredPartition
    from kafkalet.clock import Clock, MovableClock
    from kafkalet.protocol.errors import Code

    from .connections import ClientConnection
    from .faults import Fault
    from .group import Group
    from .hold import Hold
    from .nodes import BrokerNode
    from .requests import Requests
    from .security import Acls, Users
    from .share_group import ShareGroup
    from .snapshot import Snapshot
    from .topic import Topic
    from .transaction import OpenTransaction, Transaction

MOST_ENDED_FAULTS = 20


class Cluster(EmbeddedCluster):
    """A cluster of brokers for tests. All options but `brokers` are keyword arguments.

    * `brokers` (int, 1): the number of brokers. Their ids are consecutive and start at the property `node.id` or
      `broker.id`, by default at 1.
    * `host` (str, "127.0.0.1"), `port` (int, 0): the address of the first broker. Port 0 picks a free port for each
      broker; otherwise, the other brokers use the ports after this one. The property `listeners` in `config` replaces
      both, and can name several listeners.
    * `controller` (str, None): the address of the controller, for admin clients that connect to it, as in
      `"127.0.0.1:0"`; `bootstrap_controllers` returns it. With an id, as in `"3000@127.0.0.1:0"`, the controller is
      apart from the brokers.
    * `advertise` (address, None): the host and port that the first broker advertises to clients, as in
      `("kafka.test", 9092)`; the other brokers advertise the ports after this one. By default, brokers advertise the
      addresses on which they listen. With several listeners, it is the address of the first one, or a dict with the
      address of each listener by name, as in `{"EXTERNAL": ("kafka.test", 9093)}`.
    * `racks` (list of str, None): the rack of each broker, as in `["a", "b", "a"]`. By default, all brokers have the
      property `broker.rack`.
    * `data_dir` (path, None): the directory of the logs, or a list of several; a partition is in one of them. The
      property `log.dirs` in `config` does the same. The default is a temporary directory, which is removed when the
      cluster stops.
    * `read_only` (bool, False): True leaves `data_dir` unchanged. Requests that would change records, topics or the
      cluster are refused; consumer groups work, and are discarded when the cluster stops.
    * `config` (dict, None): broker properties, keyed by Kafka's names for them, as in `{"log.retention.ms": 1000}`. A
      value is a str, an int, a float or a bool, in the unit that Kafka defines for the property. A broker id as a key
      has the properties of this broker only: `{"num.partitions": 3, 2: {"broker.rack": "b"}}`.
    * `topics` (list or dict, none): topics to create on start unless they already exist: names or `NewTopic` values, as
      in `["orders", NewTopic("payments", 6)]`, or a dict from names to numbers of partitions or to options, as in
      `{"orders": 6, "payments": {"partitions": 3, "config": {"cleanup.policy": "compact"}}}`.
    * `version` (str, "newest"): the release to emulate, such as "3.9" or "4.4". "newest" accepts every version of every
      API.
    * `features` (dict, None): the levels of features in a new cluster, as in `{"metadata.version": 20}`. By default, it
      has those of the release. Those of other features depend on that of `metadata.version`, as in Kafka.
    * `clock` (clock, None): the source of time. The default is a new `kafkalet.Clock`, which shows real time and can be
      advanced. `kafkalet.Clock.frozen()` stands still until it is advanced.
    * `tls` (bool, False): True creates certificates, and the brokers listen with TLS unless `config` has other
      listeners.
    * `users` (dict, None): passwords by user name, as in `{"alice": "secret"}`. The brokers listen with SASL, and users
      log in with PLAIN or SCRAM.
    * `super_users` (list or dict, none): users who may do everything: names, or a dict of passwords. Others need ACLs.
    * `acls` (list, none): what users may do, as in `["alice:read,describe:topic:orders*"]`, or `kafkalet.Acl` values. A
      client may do nothing else. Without `acls` and `super_users`, every client may do everything.
    * `timeout` (float, 10): the timeout of waits that specify none, in seconds. It can be changed later: `timeout` is
      also an attribute.

    Raises TypeError or ValueError for an invalid argument. InvalidProperty and UnknownRelease are ValueErrors.
    """

    _has_journal = True
    _last_report: Callable[[], str] | None = None
    """Describes the cluster as it was before it stopped, or became as new, while pytest runs."""

    async def start(self) -> None:
        self._last_report = None
        await super().start()

    def __enter__(self) -> Self:
        self._last_report = None
        return super().__enter__()

    async def stop(self) -> None:
        self._keep_report()
        await super().stop()

    def __exit__(self, *error: object) -> None:
        self._keep_report()
        super().__exit__(*error)

    def _keep_report(self) -> None:
        """Keep the data for the report of a failed test, because an error in the teardown of a fixture is reported
        later.
        """
        if "kafkalet.testing.plugin" in sys.modules and self.is_running:
            from .report import read

            self._last_report = read(self, self._fault_lines())

    def _forget_test(self) -> None:
        """Forget the data that were kept for the report of a test."""
        self._last_report = None
        self._ended_faults = ()

    @staticmethod
    def _default_clock() -> Clock:
        from .clock import Clock

        return Clock()

    @property
    def clock(self) -> MovableClock:
        """The clock of the brokers: the argument `clock`, by default a `kafkalet.Clock`, which shows real time.

        `cluster.clock.advance(hours=2)` runs everything that becomes due in the next two hours.
        """
        from .clock import movable

        return movable(self._server.clock)

    def topic(
        self,
        name: str,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        """Return a topic, to send, read and wait for records.

        With `partitions`, `config` or `replication_factor`, the topic is created unless it exists. Without them, the
        first `send` creates it with the broker's defaults. Raises ValueError if the topic exists with other partitions
        or config.
        """
        from .topic import Topic

        topic = Topic(self, arguments.text("the name of a topic", name))
        if partitions is not None or config is not None or replication_factor is not None:
            topic.create(partitions, config, replication_factor)
        return topic

    def group(self, group_id: str) -> Group:
        """Return a consumer group, to read, wait for, and change its members, offsets and lag.

        The state of a group that does not exist is "Dead".
        """
        from .group import Group

        return Group(self, arguments.text("the id of a group", group_id))

    def share_group(self, group_id: str) -> ShareGroup:
        """Return a share group, to read, wait for, and change its members and the state of its records.

        The state of a group that does not exist is "Dead".
        """
        from .share_group import ShareGroup

        return ShareGroup(self, arguments.text("the id of a group", group_id))

    def transaction(self, transactional_id: str) -> Transaction:
        """Return the transaction of a transactional id, to read its state, wait for it, or abort the transaction.

        The state of a transactional id that no producer has used is "Dead".
        """
        from .transaction import Transaction

        return Transaction(self, arguments.text("a transactional id", transactional_id))

    def open_transaction(self, transactional_id: str, timeout: float = 60.0) -> OpenTransaction:
        """Return a context manager that begins a transaction, without a client.

        The transaction fences an older producer with this transactional id. It is committed at the end of the block,
        and aborted on an exception. The coordinator aborts it if it is still open after `timeout` seconds.
        """
        from .transaction import OpenTransaction

        arguments.text("a transactional id", transactional_id)
        return OpenTransaction(self, transactional_id, arguments.seconds("timeout", timeout))

    def broker(self, node_id: int) -> BrokerNode:
        """Return one broker of the cluster, to stop and start it.

        Raises ValueError if there is no such broker.
        """
        from .nodes import BrokerNode

        return BrokerNode(self, arguments.number("the id of a broker", node_id))

    # Lists

    def topics(self, *, internal: bool = False) -> list[Topic]:
        """Return the topics, by name; with `internal`, those that Kafka creates for itself as well."""
        from .topic import Topic

        topics = self._server.call(lambda: list(self._server.metadata.topics.values()))
        return [Topic(self, name) for name in sorted(each.name for each in topics if internal or not each.is_internal)]

    def groups(self) -> list[Group]:
        """Return the consumer groups, by id. Those on a stopped broker without another replica are left out."""
        from .group import Group, group_ids

        return [
            Group(self, group_id) for group_id in sorted(self._server.call(lambda: group_ids(self, is_share=False)))
        ]

    def share_groups(self) -> list[ShareGroup]:
        """Return the share groups, by id, like `groups`."""
        from .group import group_ids
        from .share_group import ShareGroup

        return [
            ShareGroup(self, group_id) for group_id in sorted(self._server.call(lambda: group_ids(self, is_share=True)))
        ]

    def transactions(self) -> list[Transaction]:
        """Return the transactions of all transactional ids, by id, like `groups`."""
        from .transaction import Transaction, transactional_ids

        return [Transaction(self, name) for name in sorted(self._server.call(lambda: transactional_ids(self)))]

    def brokers(self) -> list[BrokerNode]:
        """Return the brokers, running or stopped, by id."""
        return [self.broker(node_id) for node_id in self._server.node_ids]

    @property
    def requests(self) -> Requests:
        """The requests that clients sent to the brokers, with the responses, since the start or the last `clear`."""
        from .requests import Requests

        return Requests(self)

    def assert_no_unsupported(self) -> None:
        """Raise AssertionError if a client sent a request for an API or a version that the broker does not serve.

        ApiVersions is an exception: a client may send it in any version to find out which versions are served.
        """
        __tracebackhide__ = True
        from .requests import assert_no_unsupported

        assert_no_unsupported(self)

    # Connections and coordinators

    @property
    def connections(self) -> list[ClientConnection]:
        """The open connections of clients, to reset them, half-close them, or turn them into black holes."""
        from .connections import connections

        return connections(self)

    def refuse_connections(self, broker: int | None = None) -> Hold:
        """Refuse new connections to a broker, or to all, until the result is released.

        Open connections continue; to end them, call `reset` on each of `connections`. A broker that is restarted in the
        meantime also refuses connections.
        """
        from .connections import refuse_connections

        return refuse_connections(self, broker)

    def hold_replication(self, broker: int, topic: str | None = None, partition: int | None = None) -> Hold:
        """Stop a broker's replicas from following their leaders: all replicas, those of one topic, or a single one.

        When the result is released, the replicas catch up before `release` returns. The topic must exist, and the
        broker must have a replica of it. A replica that is currently the leader is affected once another replica
        becomes the leader. Deleting the topic ends the hold.
        """
        from .hold import Hold

        arguments.number("the id of a broker", broker)
        arguments.optional(arguments.text, "the name of a topic", topic)
        arguments.optional(arguments.number, "the number of a partition", partition)
        server = self._server
        server.call(lambda: server.hold_replication(broker, topic, partition))
        place = "" if topic is None else f" of {topic}" if partition is None else f" of {topic}-{partition}"
        return Hold(
            self,
            f"replicas{place} on broker {broker} do not follow",
            lambda: server.leadership.release(broker, topic, partition),
        )

    def fail_log_dir(self, log_dir: int | str | os.PathLike[str] = 0, broker: int | None = None) -> Hold:
        """Make a log directory of a broker fail, as if its disk broke: it is offline until the result is released.

        Its partitions return KAFKA_STORAGE_ERROR. Other in-sync replicas become leaders; without one, a partition has
        no leader. The release is like a repair of the disk and a restart of the broker: the logs in the directory are
        recovered, and its replicas lead or follow again. It raises OSError if the directory cannot be used.

        `log_dir` is the number of the directory in `data_dir`, or its path. `broker` is only needed if there are
        several. Raises ValueError if the directory does not exist or is offline already.
        """
        from .hold import Hold

        server, chosen = self._server, self._only_broker(broker)
        directory = log_dir if isinstance(log_dir, int) else os.fspath(log_dir)
        if isinstance(directory, int):
            arguments.number("the number of a log directory", directory)
        server.call(lambda: server.fail_log_directory(chosen, directory))
        return Hold(
            self,
            f"log directory {directory} of broker {chosen} is offline",
            lambda: server.restore_log_directory(chosen, directory),
        )

    def _only_broker(self, broker: int | None) -> int:
        if broker is not None:
            return arguments.number("the id of a broker", broker)
        known = self._server.node_ids
        if len(known) != 1:
            raise ValueError(f"broker is missing; name one of {', '.join(map(str, known))}")
        return known[0]

    def move_coordinator(
        self, *, group: str | None = None, transactional_id: str | None = None, to: int | None = None
    ) -> int:
        """Make broker `to` the coordinator of a group or a transactional id, and return its id.

        Without `to`, another broker with an in-sync replica is chosen. Other groups (or transactional ids) in the same
        partition of the internal topic move as well. Raises ValueError if no other broker can be the coordinator, and
        KafkaError (PREFERRED_LEADER_NOT_AVAILABLE) if the replica of `to` is not in sync.
        """
        from .moves import move_coordinator

        return move_coordinator(self, group, transactional_id, to)

    def stop_controller(self) -> Hold:
        """Let no controller be active until the result is released, as if the processes of all controllers had ended.

        Leaders, ISRs and topics do not change, and requests of clients for the controller wait, for a minute at most.
        Brokers that were lost in the meantime are fenced when `broker.session.timeout.ms` has passed on the clock after
        the release.
        """
        from .hold import Hold

        self._server.call(self._server.stop_controller)
        return Hold(self, "no controller is active", self._server.start_controller)

    def roll(self, timeout: float | None = None) -> None:
        """Restart every running broker, one after the other, each on the same port (a rolling restart).

        After each restart, wait until the replicas of the broker are in sync. Raises AssertionError if this takes more
        than `timeout` seconds (by default `cluster.timeout`). Leaders move to other brokers.
        """
        from .moves import roll

        roll(self, timeout)

    # Maintenance

    def run_cleaner(self, *, roll: bool = False) -> list[CleanedPartition]:
        """Compact all logs that are due, by Kafka's rules and the clock of the brokers. Return what was done.

        In the background, this happens every `log.cleaner.backoff.ms`. A log is due if more than
        `min.cleanable.dirty.ratio` of a log has not been compacted yet, or if a record has not been compacted for
        `max.compaction.lag.ms`. The active segment of a log is never compacted, and neither are records that are
        younger than `min.compaction.lag.ms` or not below the last stable offset. With `roll`, the active segments are
        rolled first, so that records which were just written can be compacted.

        Each replica that was compacted is in the result once. The call returns when no log is due anymore.
        """
        return self._server.run_cleaner(roll=roll)

    def run_retention(self) -> list[RetainedPartition]:
        """Delete all expired segments now. Which have expired depends on `retention.ms`, `retention.bytes` and the
        clock of the brokers.

        In the background, this happens every `log.retention.check.interval.ms`. Return the replicas whose segments
        were deleted.
        """
        return self._server.call(self._server.run_retention)

    def run_tiering(self) -> list[TieredPartition]:
        """Copy all segments that are due to remote storage, and delete those that have expired there.

        In the background, this happens every `remote.log.manager.task.interval.ms`, if the brokers have tiered storage
        (`remote.log.storage.system.enable`). The active segment of a log is never copied. Local segments that have been
        copied are deleted by `run_retention`. Return the partitions whose remote segments have changed. Raises
        RuntimeError without tiered storage.
        """
        return self._server.run_tiering()

    # Security

    @property
    def acls(self) -> Acls:
        """The ACLs, to add and remove them while the cluster is running."""
        from .security import Acls

        return Acls(self)

    @property
    def users(self) -> Users:
        """The users who can log in with a password, to add and remove them while the cluster is running."""
        from .security import Users

        return Users(self)

    def client_config(
        self,
        user: str | None = None,
        *,
        client: str = "confluent-kafka",
        mechanism: str | None = None,
        listener: str | None = None,
    ) -> dict[str, Any]:
        """Return the settings with which a client connects, logs in as a user, and trusts the brokers' certificates.

        `client` is "confluent-kafka" (also for other clients made with librdkafka), "kafka-python", "aiokafka" or
        "java". `mechanism` is "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512" or "OAUTHBEARER"; the default is the first
        one that the listener enables. With OAUTHBEARER, the client has an unsecured token with the user's name.
        `listener` is the name of a listener; the default is the first one where the user can log in. At a listener
        with TLS but without SASL, the client of a user gets a certificate with the user's name.

        Raises ValueError if the user cannot log in.
        """
        from .client_config import client_config

        return client_config(self, user, client, mechanism, listener)

    def java_properties_file(
        self, user: str | None = None, *, mechanism: str | None = None, listener: str | None = None
    ) -> str:
        """Write the settings of `client_config(..., client="java")` to a properties file, and return its path.

        The command-line tools of Kafka take the file as `--command-config`. It is removed when the cluster stops.
        """
        from .client_access import access_of
        from .client_config import java_properties_file

        return java_properties_file(access_of(self, user, mechanism, listener))

    # Faults

    _faults: tuple[Fault, ...] = ()
    _ended_faults: tuple[Fault, ...] = ()
    """The latest faults that were removed, for the report of a failed test."""

    def fault(
        self,
        api: str | Iterable[str] | None = None,
        *,
        error: str | Code | None = None,
        delay: float | None = None,
        hang: bool = False,
        barrier: int | None = None,
        drop_response: bool = False,
        disconnect: Literal["before", "after"] | None = None,
        corrupt: bool | int = False,
        truncate: int | None = None,
        throttle: float | None = None,
        bandwidth: float | None = None,
        respond: Callable[[Any, Any], object] | None = None,
        topic: str | re.Pattern[str] | None = None,
        partition: int | None = None,
        group: str | re.Pattern[str] | None = None,
        client_id: str | re.Pattern[str] | None = None,
        version: int | range | None = None,
        broker: int | None = None,
        when: Callable[[Any], object] | None = None,
        times: int | None = None,
        nth: int | None = None,
        every: int | None = None,
        probability: float | None = None,
        seed: int = 0,
        strict: bool = True,
        **unknown: Never,
    ) -> Fault:
        """Make requests fail. `api` is the name of an API, as in "Produce", a list of names, or None for all.

        What happens to a request:

        * `error`: the response has this error, such as "NOT_LEADER_OR_FOLLOWER". With `topic`, `partition` or `group`,
          only these items of the request fail, and the others are served. A Produce request with acks=0 gets no
          response, so its connection is closed, as Kafka does on an error.
        * `delay`: the request is handled after this number of seconds. Later requests on the connection wait as well.
          If the client disconnects in the meantime, the request is still handled, as in Kafka.
        * `hang`: the request is handled when `release` is called, or when the fault ends.
        * `barrier`: requests are held until this number of them have arrived, and then handled in that order.
        * `drop_response`: the request is handled, but its response is lost, and so are all later ones on the
          connection, because responses must keep the order of requests. The connection stays open, and later requests
          are handled. The client notices when its request times out.
        * `disconnect`: "before" closes the connection instead of handling the request, "after" instead of responding.
        * `corrupt`: this number of bytes in the response are corrupted (True: 1). For Fetch, these are bytes of the
          records of each partition, so that their CRC is wrong. A response without records does not count, but later
          faults do not get its request.
        * `truncate`: the connection is closed after this number of bytes of the response, including its size field.
        * `throttle`: the response has this throttle time in seconds, and the broker mutes the client for as long.
        * `bandwidth`: the response is sent at this number of bytes per second. When the fault ends, the rest is sent
          immediately.

        * `respond`: this function is called with the decoded request and the decoded response (see
          kafkalet.protocol.messages). It may change the response, or return another one, or return `kafkalet.DROP`,
          which drops the response like `drop_response`. With `error`, the response is that with the error.

        One of `delay`, `hang` and `barrier` can be combined with any other option. `throttle`, `bandwidth` and
        `respond` can be combined with options that send a whole response.

        Which requests match: those that name this `topic`, `partition` and `group`, sent by this `client_id`, in this
        `version` (a number or a range) to this `broker` (an id), for which `when` returns true. It is called with the
        decoded request (see kafkalet.protocol.messages) in the event loop of the broker, so it must be quick. Names
        must be equal, and patterns (`re.compile`) must match the whole name.

        On which of them the fault fires: on all, on the first `times`, on the `nth` (counted from 1), on `every` n-th,
        or on each with a `probability`; `seed` makes the choice reproducible. Several faults are tried in the order in
        which they were set. The first one that fires takes the request: later ones neither count nor change it.

        In a `with` statement, the fault is removed at the end of the block, and AssertionError is raised if the fault
        has not fired, or less often than `times`. Without `with`, the fault stays until `remove` is called, and
        `unfired_faults` reports it; the pytest plugin does both at the end of the test. With `strict=False`, a fault
        need not fire.

        Raises ValueError if an option is invalid, for example because the response has no field for the error.
        """
        options: dict[str, Any] = dict(locals())
        for name in ("self", "api", "unknown"):
            del options[name]
        options |= unknown
        from .faults import set_fault

        fault = set_fault(self, api, options, self._forget_fault)
        self._faults = (*self._faults, fault)
        self._server.watchers.touch()
        return fault

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that are set."""
        return self._faults

    def unfired_faults(self) -> list[str]:
        """For each fault that has fired less often than expected, return what happened instead.

        Faults whose `with` block has ended are not included. May be called after the cluster has stopped.
        """
        return [text for fault in self._faults if (text := fault.unfired()) is not None]

    def remove_faults(self) -> None:
        """Remove all faults, and forget whether they have fired."""
        self._remove(self._faults)

    def _remove(self, faults: Collection[Fault]) -> None:
        for fault in faults:
            fault.remove()
            self._forget_fault(fault)

    def _fault_lines(self) -> list[str]:
        """Return a line for each fault, with its number, which marks the requests on which it has fired."""
        faults = sorted({*self._ended_faults, *self._faults}, key=lambda fault: fault.number)
        return [f"{each.number}: {each!r}{'' if each in self._faults else ', removed'}" for each in faults]

    def _end_faults(self) -> list[str]:
        """Remove the faults that a test has left behind, and return what `unfired_faults` says about them.

        A fault whose `with` block has not ended belongs to a fixture for several tests. It stays.
        """
        left = [fault for fault in self._faults if not fault.is_in_block]
        self._remove(left)
        return [text for fault in left if (text := fault.unfired()) is not None]

    def _forget_fault(self, fault: Fault) -> None:
        self._faults = tuple(other for other in self._faults if other is not fault)
        self._ended_faults = (*self._ended_faults, fault)[-MOST_ENDED_FAULTS:]
        self._server.watchers.touch()

    def settle(
        self,
        timeout: float | None = None,
        *,
        groups: bool | Collection[str] = True,
        transactions: bool = True,
        requests: bool = True,
    ) -> None:
        """Wait until the brokers are quiet: no request is in progress, no group has a lag, no transaction is open.

        A record that is missing after that will not arrive. A Fetch request that waits for records is not in progress.
        A request to which the broker will never respond is: Produce with null records, to which Kafka does not respond
        either. A partition without a leader is not quiet, because its records are unknown and producers wait for its
        leader.

        With `groups=True`, every group with members counts; a list of ids names the groups, with or without members.
        `groups=False`, `transactions=False` and `requests=False` switch a condition off; the last one also ignores
        partitions without a leader. The brokers cannot see a client between two requests, or one that consumes without
        a group: wait for an application to start first, for example with `group(...).wait_until_stable()`.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`), whose message lists what is
        still in progress.
        """
        __tracebackhide__ = True
        from .settling import settle

        settle(self, timeout, groups, transactions=transactions, requests=requests)

    # Contents

    def reset(self) -> None:
        """Remove all topics, groups, transactions, quotas and changed configs, in about a millisecond.

        The topics, users and ACLs given to the constructor are created again; the topics are empty. The brokers keep
        their ports and start again if they were stopped. All connections are closed; clients reconnect and find the
        topics deleted. Faults are removed. The clock is not changed.
        """
        self.remove_faults()
        self._turns.clear()
        self._server.call(self._server.reset)

    def _renew(self) -> None:
        """Make the cluster as new, on the same ports, except for the faults that are set."""
        from .clock import Clock

        self._keep_report()
        self._turns.clear()
        self.timeout = self._first_timeout
        if isinstance(self._server.clock, Clock):
            self._server.clock._return_to_real_time()
        self._server.call(self._server.reset)

    def snapshot(self) -> Snapshot:
        """Return a copy of the contents, to `restore` them later or in another cluster.

        It contains topics, their records and offsets, groups and committed offsets, open transactions, producer ids,
        configs, quotas, ACLs and SCRAM credentials, but not the clock, held replication or high watermarks, or offsets
        committed with OffsetCommit v0. Clients are not disturbed. Raises RuntimeError if a broker is stopped.
        """
        from .snapshot import Snapshot

        return Snapshot(self._server.call(self._server.image))

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the contents with those of a snapshot.

        The brokers keep their ports, and all connections are closed. Clients reconnect as after a restart of the
        brokers. Groups have their committed offsets but no members; running members join again. Leader epochs are
        higher than before, because clients ignore older ones. Raises ValueError, and changes nothing, if the snapshot
        has another number of brokers, other broker ids, or configs that this release does not allow.
        """
        from .snapshot import Snapshot

        if not isinstance(snapshot, Snapshot):
            raise TypeError(
                f"restore() takes a Snapshot, not {arguments.shown(snapshot)}; "
                "kafkalet.testing.snapshot.Snapshot.load() reads one from a file"
            )
        from kafkalet.broker.cluster.metadata_store import MetadataDamaged

        try:
            self._server.call(lambda: self._server.restore(snapshot.image))
        except MetadataDamaged as error:
            raise ValueError(f"the snapshot cannot be restored here: {error}") from error


class Broker(Cluster):
    """A cluster of one broker, which is enough for most tests. It takes the options of `Cluster` except `brokers`."""

    _most_brokers = 1

    @property
    def port(self) -> int:
        """The advertised port. Raises RuntimeError if the broker is not running."""
        return self._endpoints()[0].port
