"""UnregisterBroker v0: remove a stopped or running broker from a cluster in KRaft mode (KIP-500).

Other brokers become leaders of its partitions, as if it had stopped, and no replica can be assigned to it. A running
broker continues to serve its clients, but no broker lists it, it leads no partition, and it is in no ISR with others. A
broker registers again only when it starts.

Source: ClusterControlManager.unregisterBroker, ReplicationControlManager.handleBrokerUnregistered.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def handle(request: UnregisterBrokerRequest, context: Context) -> UnregisterBrokerResponse:
    context.require_on_cluster(Operation.ALTER)
    context.controller.unregister_broker(request.broker_id)
    return UnregisterBrokerResponse()
