"""TLS: the settings of a listener, and certificates for tests. Connections are in `broker.network`.

    settings                the SSLContext of a listener, from the properties `ssl.*`
    key_stores              keystores and truststores: PEM, and PKCS#12
    distinguished_names     the names in certificates
    principal_mapping       the rules that map these names to principals
    java_patterns           the regular expressions of these rules
    handshake_limit         how many handshake messages a client may send on one connection
    certificate_authority   a certificate authority, and certificates, for tests
    certificate_tools       how they are created: with `cryptography` or `openssl`

Only a broker with TLS imports this package. Source: org.apache.kafka.common.security.ssl.
"""
