"""CreateAcls v0-3: add ACLs (KIP-140).

Creating an ACL that exists succeeds. Each ACL is created or refused independently of the others.

Source: kafka.server.AclApis.handleCreateAcls, org.apache.kafka.controller.AclControlManager.createAcls.
"""

from kafkalet.broker.apis.parts.acl_requests import BETWEEN_PAUSES, acl_of, check_new, check_readable
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Acl, Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafkalet.tasks.task import pause

Result = CreateAclsResponse.Result

MOST_CREATED = 10_000
"""The largest number of new ACLs in a request, in KRaft releases (QuorumController.MAX_RECORDS_PER_USER_OP)."""


async def handle(request: CreateAclsRequest, context: Context) -> CreateAclsResponse:
    check_readable(request.creations)
    context.require_on_cluster(Operation.ALTER)
    if context.authorizer is None:
        raise KafkaError(Code.SECURITY_DISABLED, "No Authorizer is configured.")
    acls = [acl_of(creation, context.release) for creation in request.creations]
    created: dict[Acl, None] = {}
    success = "" if context.release.sends_empty_messages_for_acls else None
    results = []
    for number, acl in enumerate(acls):
        try:
            check_new(acl, context.release)
        except KafkaError as error:
            results.append(Result(error_code=error.code, error_message=error.message))
        else:
            created[acl] = None
            results.append(Result(error_message=success))
        if not number % BETWEEN_PAUSES:
            await pause()
    if len(created) > MOST_CREATED and context.release.checks_acls_at_controller:
        new = sum(acl not in context.metadata.acls for acl in created)
        if new > MOST_CREATED:
            message = "Unable to perform excessively large batch operation."
            refused = Result(error_code=Code.POLICY_VIOLATION, error_message=message)
            return CreateAclsResponse(results=[result if result.error_code else refused for result in results])
    context.controller.create_acls(created)
    return CreateAclsResponse(results=results)
