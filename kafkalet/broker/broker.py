"""One broker of a cluster, as seen by request handlers.

    Context ── broker ──┬── node            its replicas, configuration, metadata, clock     cluster/node.py
                        ├── controller      decisions for the whole cluster                  cluster/controller.py
                        ├── coordinators    of groups, transactions and share partitions     coordinators.py
                        └── fetch sessions, telemetry, quotas; the other brokers

The broker itself handles no connections: a `BrokerServer` adds the listener and the router.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kafkalet.properties import InvalidProperty
from kafkalet.tasks.delayed import Delayed

from .cluster.controller import Controller
from .cluster.node import Node
from .coordinators import Coordinators
from .fetch_sessions import FetchSessions
from .served import Role

if TYPE_CHECKING:  # imported on first use
    from kafkalet.storage.directory import LogDirectory

    from .config.broker_config import BrokerConfig
    from .quotas.throttling import Throttling
    from .security.authorizer import Authorizer
    from .share.coordinator import ShareCoordinator
    from .share.persister import SharePersister
    from .share.share_partitions import SharePartitions
    from .telemetry import Telemetry
    from .transactions.verification import Transactions

_LOG = logging.getLogger(__name__)


class Broker:
    """A broker. `brokers` maps ids to the running brokers of the cluster."""

    def __init__(
        self,
        node: Node,
        controller: Controller,
        coordinators: Coordinators,
        brokers: Mapping[int, Broker],
        role: Role = Role.BROKER,
    ) -> None:
        config, release = node.config, node.release
        self.role = role
        self.node = node
        self.controller = controller
        self.coordinators = coordinators
        self.brokers = brokers
        self.api_versions = role.served(release.name)
        """The supported APIs, with the lowest and highest version of each."""
        self.fetch_sessions = FetchSessions(
            node.client_clock,
            config.max_incremental_fetch_session_cache_slots,
            returned_go_last=release.moves_every_returned_partition,
            takes_nameless=release.takes_nameless_topics_into_sessions,
        )
        self.authorizer = self._authorizer()
        """Decides what clients may do; None if they may do everything."""
        self.is_plain = False
        """Whether fast paths may be used, because no hook needs the messages (network/hooks.py)."""
        self.throttling: Throttling | None = None
        """Enforces the client quotas; None until one is set."""
        self._telemetry: Telemetry | None = None
        self._transactions: Transactions | None = None
        self._share_state: SharePersister | None = None
        self._shares: SharePartitions | None = None
        node.observer = self

    @property
    def telemetry(self) -> Telemetry:
        """The client telemetry (KIP-714), created on first use."""
        if self._telemetry is None:
            from .telemetry import Telemetry

            self._telemetry = Telemetry(self.controller.metadata, self.node.release)
        return self._telemetry

    @property
    def share_state(self) -> SharePersister:
        """Stores what share groups have consumed, created on first use."""
        if self._share_state is None:
            from .share.persister import SharePersister

            def coordinator(node_id: int) -> ShareCoordinator | None:
                of_broker = self._reached(node_id)
                return None if of_broker is None else of_broker.share

            self._share_state = SharePersister(self.controller, coordinator)
        return self._share_state

    @property
    def shares(self) -> SharePartitions:
        """The share partitions that members of share groups use, created on first use."""
        if self._shares is None:
            from .share.share_partitions import SharePartitions

            self._shares = SharePartitions(self.node, self.share_state, self.controller)
        return self._shares

    @property
    def transactions(self) -> Transactions:
        """The transactions of the whole cluster, regardless of which broker coordinates them."""
        if self._transactions is None:
            from .transactions.verification import Transactions

            node = self.node
            self._transactions = Transactions(
                lambda: node.metadata, node.real_clock, node.release, self.coordinators.of_broker, node
            )
        return self._transactions

    def _reached(self, node_id: int) -> Coordinators | None:
        """Return the coordinators of a broker that responds to this one, or None."""
        found = self.coordinators.of_broker(node_id)
        return found if found is not None and self.node.reaches(found.node) else None

    def _authorizer(self) -> Authorizer | None:
        given = self.node.config.given()
        name = given.get("authorizer.class.name")
        if not name:
            return None
        from .security.authorizer import AUTHORIZERS, Authorizer
        from .security.principal import parse_super_users

        if name not in AUTHORIZERS:
            _LOG.warning(
                "authorizer.class.name=%s: kafkalet cannot run Java classes; the rules of %s apply",
                name,
                AUTHORIZERS[0],
            )
        super_users = given.get("super.users", "")
        try:
            principals = parse_super_users(super_users)
        except ValueError as problem:
            raise InvalidProperty("super.users", super_users, str(problem)) from None
        return Authorizer(
            self.node.metadata.acls,
            principals,
            allows_without_acl=given.get("allow.everyone.if.no.acl.found", "").strip().lower() == "true",
            asks_for_any_resource_first=self.node.release.asks_for_any_resource_first,
        )

    def apply_quotas(self, addresses: Mapping[str, str | None] | None = None) -> None:
        """Apply the client quotas in the metadata. `addresses` maps resolved host names to addresses."""
        node = self.node
        quotas = node.metadata.client_quotas
        if self.throttling is None and quotas:
            from .quotas.hosts import look_up
            from .quotas.throttling import Throttling

            def look_up_in_thread(host: str) -> Delayed[str | None]:
                return node.workers.submit(partial(look_up, host))

            self.throttling = Throttling(node.config, node.client_clock, node.loop.time, look_up_in_thread)
        if self.throttling is not None:
            self.throttling.obey(quotas, addresses or {})

    def close(self, *, discard: bool = False) -> None:
        """Close the coordinators and the node; see Node.close."""
        self.coordinators.close()
        self.node.close(discard=discard)

    # Methods of the node's Observer

    def state_partition_changed(self, topic: str, index: int) -> None:
        self.coordinators.changed(topic, index)

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        self.coordinators.partitions_deleted(topic, partitions)

    def check_reconfiguration(self, after: BrokerConfig) -> None:
        """Raise InvalidProperty if a part of the broker cannot apply a change of the configuration."""

    def log_directory_failed(self, directory: LogDirectory) -> None:
        self.controller.log_directory_failed(self.node, directory)

    def config_changed(self) -> None:
        """Do nothing, because no part of the configuration is cached here."""
