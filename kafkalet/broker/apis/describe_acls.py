"""DescribeAcls v0-3: list the ACLs that match a filter (KIP-140).

Kafka returns the resources in the order of a HashMap. Here they are in the order in which they got their first ACL.

Source: kafka.server.AclApis.handleDescribeAcls, org.apache.kafka.common.requests.DescribeAclsResponse.aclsResources.
"""

from kafkalet.broker.apis.parts.acl_requests import BETWEEN_PAUSES, filter_of, matching
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, PatternType, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafkalet.tasks.task import pause

Resource = DescribeAclsResponse.Resource


async def handle(request: DescribeAclsRequest, context: Context) -> DescribeAclsResponse:
    acl_filter = filter_of(request, context.release)
    context.require_on_cluster(Operation.DESCRIBE)
    if context.authorizer is None:
        raise KafkaError(Code.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    resources: dict[tuple[ResourceType, str, PatternType], Resource] = {}
    for number, acl in enumerate(await matching(acl_filter, list(context.metadata.acls))):
        key = acl.resource_type, acl.resource_name, acl.pattern_type
        resource = resources.get(key)
        if resource is None:
            resource = resources[key] = Resource(
                resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type, acls=[]
            )
        resource.acls.append(
            Resource.Acl(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
        if not number % BETWEEN_PAUSES:
            await pause()
    success = "" if context.release.sends_empty_messages_for_acls else None
    return DescribeAclsResponse(error_message=success, resources=list(resources.values()))
