"""DescribeLogDirs in every version."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios

scenario = Scenarios("replicas")


@scenario("KIP-113 KIP-827 ReplicaManager")
def describe_log_dirs(ask: ScenarioBuilder) -> None:
    """DescribeLogDirs lists each directory with the size of each wanted partition, and leaves out unknown
    partitions."""
    t, n = ask.topic(partitions=2), ask.unknown_topic()
    ask.produce(t, batch(10, 20), partition=1)
    last = ask.versions("DescribeLogDirs")[-1]
    nothing: Step = {"topics": []}
    ask.setup("DescribeLogDirs", last, nothing, bind={"directory": "results.0.log_dir"})
    for v in ask.versions("DescribeLogDirs"):
        for case, topic, partitions in (
            ("one partition", t, [1]),
            ("two partitions", t, [0, 1]),
            ("a partition twice", t, [1, 1]),
            ("unknown partition", t, [7]),
            ("unknown topic", n, [0]),
            ("no partitions", t, []),
        ):
            body = {"topics": [{"topic": topic, "partitions": partitions}]}
            ask.request(f"v{v}: {case}", "DescribeLogDirs", v, body)
        ask.request(f"v{v}: no topics", "DescribeLogDirs", v, nothing)
