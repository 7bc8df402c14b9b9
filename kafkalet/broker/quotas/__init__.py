"""Client quotas (KIP-13, KIP-55, KIP-257, KIP-599, KIP-612): limits for users, client ids and addresses.

    entities.py     the entities that can have quotas, the valid quota values, and which quota applies to a client
    hosts.py        the addresses of host names with quotas
    meters.py       measures the recent usage of a client
    throttling.py   mutes clients over quota and sets the throttle time

A broker without quotas does not import these modules. A broker with quotas has a `Throttling`, which the router calls
before and after each request. Handlers call it in `apis/fetch_quota.py` and `apis/parts/mutation_quota.py`.
"""
