"""Who clients are, and what they may do.

    principal, tls, sasl/              authentication: certificates and passwords become a principal
    acl, authorizer                    authorization: which operations a principal may perform on which resources

Without an authorizer, every principal may do everything. Source: org.apache.kafka.common.security,
org.apache.kafka.metadata.authorizer.StandardAuthorizer.
"""
