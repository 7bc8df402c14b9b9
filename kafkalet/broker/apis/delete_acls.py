"""DeleteAcls v0-3: delete the ACLs that match filters (KIP-140).

An ACL that several filters match is in the result of each of them. Kafka returns the ACLs of a filter in no particular
order. Here they have the order of their creation. A request that deletes more than 10,000 ACLs is refused by Kafka with
UNKNOWN_SERVER_ERROR, because it does not fit into one batch of the controller; here it is served.

Source: kafka.server.AclApis.handleDeleteAcls, org.apache.kafka.controller.AclControlManager.deleteAcls.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.work import pause
from kafkalet.broker.security.acl import Acl, Operation
from kafkalet.broker.security.acl_requests import check_filter, filter_of, matching
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse

FilterResult = DeleteAclsResponse.FilterResult


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
        deleted.update(dict.fromkeys(found))
        results.append(FilterResult(error_message=None, matching_acls=[_matching_acl(acl) for acl in found]))
        await pause()
    context.controller.delete_acls(deleted)
    return DeleteAclsResponse(filter_results=results)


def refuse(request: DeleteAclsRequest, context: Context, error: KafkaError) -> DeleteAclsResponse:
    result = FilterResult(error_code=error.code, error_message=error.message, matching_acls=[])
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))


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
