"""Record scenarios with Apache Kafka: starts a release, and runs `python -m tools.recording record` against it.

python -m tests.oracle.record 3.9 [--match lo_time] [--acl] [--tokens] [--brokers 3] [--faults] [--show]
"""

import sys

from tools.recording.command import main
from tools.recording.recorded_properties import RACKS, broker_properties

from .apache_kafka import ApacheKafka, missing
from .network import Network


def record(arguments: list[str]) -> int:
    version, *options = arguments
    release = ".".join(version.split(".")[:2])
    if reason := missing(version):
        print(f"cannot start Apache Kafka {version}, because {reason}", file=sys.stderr)
        return 2
    legacy = ["--legacy"] if release == "2.8" else []
    brokers = 1
    if "--brokers" in options:
        at = options.index("--brokers")
        brokers = int(options[at + 1])
        del options[at : at + 2]
    if faults := "--faults" in options:
        options.remove("--faults")
        brokers = len(RACKS)
    tokens = "--tokens" in options
    properties = broker_properties(release, brokers, tokens=tokens, faults=faults)
    racks = RACKS if faults else ()
    network = Network() if faults else None
    with ApacheKafka(version, tokens or "--acl" in options, properties, brokers, racks=racks, network=network) as kafka:
        bootstrap = ["--bootstrap", kafka.bootstrap_servers]
        return main(["record", release, *bootstrap, *legacy, *options], kafka if faults else None)


if __name__ == "__main__":
    sys.exit(record(sys.argv[1:]))
