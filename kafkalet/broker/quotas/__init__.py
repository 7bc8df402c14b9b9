"""Quotas of clients (KIP-13, KIP-55, KIP-257, KIP-599, KIP-612): how much a user, a client or an address may ask for.

    entities.py     whom a quota is for, what may be set, which one counts for a client
    meters.py       how much somebody has used lately
    throttling.py   who has used too much waits, and is told how long
    fetching.py     the same for Fetch, which sends nothing then
    mutations.py    the same for topics made and deleted, which may be refused

A broker without quotas loads none of this. One with quotas has a `Throttling` that its router asks before and after
each request.
"""
