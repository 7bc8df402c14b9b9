"""Who clients are, and what they may do.

    principal                 the result of authentication: the user who sends a request
    sasl/                     authentication with passwords and tokens
    tls/                      authentication with certificates, and encryption
    scram_credentials         the data that a broker stores instead of a password
    delegation_tokens         tokens with which other clients of a user log in (KIP-48)
    acl, authorizer           authorization: which operations a principal may perform on which resources
    acl_text, short_forms     users, ACLs and TLS in the arguments of the test kit and of commands

Without an authorizer, every principal may do everything. Source: org.apache.kafka.common.security,
org.apache.kafka.metadata.authorizer.StandardAuthorizer.
"""
