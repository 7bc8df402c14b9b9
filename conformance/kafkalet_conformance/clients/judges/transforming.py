"""Judge consume-transform-produce clients: compare the output topic with the input topic."""

from collections import Counter
from collections.abc import Iterator

from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Judge
from kafkalet_conformance.clients.stage import TOPIC, Stage

from .ending import ended, last_log, last_requests


def transformed(*, redelivery: str | None = None) -> Judge:
    """Judge a consume-transform-produce client: each input is in the output once, for read_committed readers."""

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from ended(stage)
        inputs = [(record.value or b"").decode() for record in stage.topic.records("read_committed")]
        inputs = inputs[: stage.scenario.count]
        copied = stage.cluster.topic(f"{TOPIC}-output").records("read_committed")
        outputs = Counter((record.value or b"").decode() for record in copied)
        missing = [value for value in inputs if not outputs[value]]
        twice = [value for value, count in outputs.items() if count > 1]
        if missing and stage.status == 0:
            evidence = (f"the first: value {missing[0]}",)
            yield Finding(Verdict.LOST, f"{len(missing)} of {len(inputs)} inputs are not in the output", evidence)
        elif missing and not stage.was_late:
            yield Finding(
                Verdict.GAVE_UP,
                f"the client ended with {len(missing)} of {len(inputs)} inputs left",
                (*last_log(stage), *last_requests(stage)),
            )
        if twice:
            evidence = (f"the first: value {twice[0]}, {outputs[twice[0]]} times",)
            if redelivery is None:
                yield Finding(Verdict.DUPLICATED, f"{len(twice)} inputs are in the output more than once", evidence)
            else:
                yield Finding(Verdict.AS_DOCUMENTED, redelivery, evidence)

    return judge
