"""SASL: clients prove who they are, with PLAIN, SCRAM or OAUTHBEARER.

`authenticator` performs the exchange of tokens on one connection; each mechanism has a module.
"""
