"""DeleteAcls v0-3: delete the ACLs that match filters (KIP-140).

An ACL that matches several filters is in the result of each filter; with ZooKeeper, only of the first. Kafka returns
the ACLs of a filter in no particular order. Here they are in the order of their creation. A request that would delete
more than 10,000 ACLs deletes none, except with ZooKeeper.

Source: kafka.server.AclApis.handleDeleteAcls, org.apache.kafka.controller.AclControlManager.deleteAcls.
"""

from kafkalet.broker.apis.parts.acl_requests import check_filter, filter_of, matching
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Acl, Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kafkalet.tasks.task import pause

FilterResult = DeleteAclsResponse.FilterResult

MOST_DELETED = 10_000
"""The largest number of ACLs that a request deletes, in KRaft releases (QuorumController.MAX_RECORDS_PER_USER_OP)."""
TOO_MANY = f"Cannot remove more than {MOST_DELETED} acls in a single delete operation."


async def handle(request: DeleteAclsRequest, context: Context) -> DeleteAclsResponse:
    filters = [filter_of(wanted, context.release) for wanted in request.filters]
    context.require_on_cluster(Operation.ALTER)
    if context.authorizer is None:
        raise KafkaError(Code.SECURITY_DISABLED, "No Authorizer is configured.")
    acls = list(context.metadata.acls)
    deleted: dict[Acl, None] = {}
    results = []
    for acl_filter in filters:
        try:
            check_filter(acl_filter, context.release)
        except KafkaError as error:
            results.append(FilterResult(error_code=error.code, error_message=error.message, matching_acls=[]))
            continue
        found = await matching(acl_filter, acls)
        if not context.release.checks_acls_at_controller:  # AclAuthorizer gives an ACL to the first filter that matches
            matched = frozenset(found)
            acls = [acl for acl in acls if acl not in matched]
        deleted.update(dict.fromkeys(found))
        if len(deleted) > MOST_DELETED and context.release.checks_acls_at_controller:
            raise KafkaError(Code.INVALID_REQUEST, TOO_MANY)
        results.append(FilterResult(error_message=None, matching_acls=[_matching_acl(acl) for acl in found]))
        await pause()
    context.controller.delete_acls(deleted)
    return DeleteAclsResponse(filter_results=results)


def _matching_acl(acl: Acl) -> FilterResult.MatchingAcl:
    return FilterResult.MatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
