"""The addresses of brokers: `HOST:PORT,[IPV6]:PORT`."""


def bootstrap_addresses(text: str) -> list[tuple[str, int]]:
    """Return hosts and ports. Raises ValueError if one is not `HOST:PORT`."""
    return [_address(one.strip()) for one in text.split(",") if one.strip()] or [_address(text)]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not bare or not port.isdecimal() or not 0 < int(port) < 65536 or (":" in bare and bare == host):
        raise ValueError(f"{text!r} is not an address; expected is HOST:PORT, or [IPV6]:PORT for IPv6")
    return bare, int(port)
