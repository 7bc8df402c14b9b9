"""Random walks of consumer groups: members join, leave, change their subscriptions and miss requests.

The same seed produces the same walk.
"""

import random

from kafkalet_conformance.between.histories.consumers import Walk
from kafkalet_conformance.building import ScenarioBuilder
from tools.recording.definitions import KAFKA_4_4, Scenarios

scenario = Scenarios("consumer_groups_kip848", KAFKA_4_4, ConsumerGroupHeartbeat=1)


def walk(seed: int, assignor: str, with_classic: bool = False, with_topics: bool = False, steps: int = 60) -> None:
    kind = "mixed" if with_classic else "topics" if with_topics else assignor
    name = f"consumer_group_{kind}_walk_{seed}"

    def walk_of_seed(ask: ScenarioBuilder) -> None:
        Walk(ask, random.Random(name), assignor, with_classic, with_topics).go(steps)  # noqa: S311 - reproducible, not secret

    more = " and a member of the classic protocol" if with_classic else " and topics that grow" if with_topics else ""
    walk_of_seed.__name__ = name
    walk_of_seed.__doc__ = (
        f"With the {assignor} assignor{more}, each response in random sequence {seed} of joins, heartbeats, commits "
        "and leaves follows from the earlier requests."
    )
    sources = "KIP-848 GroupMetadataManager.consumerGroupHeartbeat CurrentAssignmentBuilder.build"
    scenario(sources)(walk_of_seed)


for seed in range(1, 5):
    walk(seed, "range")
    walk(seed, "uniform")
    walk(seed, "range", with_classic=True)
    walk(seed, "uniform", with_topics=True)
