"""Who clients are, and what they may do.

    principal, tls, sasl/              authentication: certificates and passwords become a principal
    key_stores, distinguished_names,   TLS: keystores as in Kafka, the names in certificates, the rules that map them to
    principal_mapping, java_patterns   principals, and the regular expressions of these rules
    certificates                       TLS: an authority and certificates for tests
    acl, authorizer                    authorization: which operations a principal may perform on which resources

Without an authorizer, every principal may do everything. Source: org.apache.kafka.common.security,
org.apache.kafka.metadata.authorizer.StandardAuthorizer.
"""
