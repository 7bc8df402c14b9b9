"""Measure how long many consumers that start together take to get their first record, and where the time is spent.

    python -m benchmarks.group_start [--client confluent] [--groups 20] [--members 10] [--brokers 3] [--processes 1]
    python -m benchmarks.group_start --bootstrap HOST:PORT,... --broker-pids PID,...     any other cluster

Each group reads a topic with as many partitions as the group has members and one record per partition, so every member
gets a record once the group is complete. Nothing is committed. All members start at the same moment. For each member
the benchmark measures the time to its first assignment, to its last assignment and to its first record. It also
measures the processor time of the clients and the brokers, because they share this machine: a client that uses all
processors limits the result itself. To measure Apache Kafka, start its brokers and pass their addresses and process
ids.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from statistics import median
from typing import Any, NamedTuple

from .brokers import ROOT

PATIENCE_S = 120.0
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Started(NamedTuple):
    """The times at which a member got its assignments and its first record, in seconds since the start."""

    first_assigned_s: float
    last_assigned_s: float
    first_record_s: float
    assignments: int


class Plan(NamedTuple):
    """The members that one process starts."""

    bootstrap: str
    run: str
    members: Sequence[int]
    """The group number of each member."""

    def topic(self, group: int) -> str:
        return f"group-start-{self.run}-{group}"

    def group(self, group: int) -> str:
        return f"group-{self.run}-{group}"


class Watch:
    """Records when a member gets its assignments."""

    def __init__(self, begun_s: float) -> None:
        self.begun_s = begun_s
        self.assigned_s: list[float] = []

    def assigned(self) -> None:
        self.assigned_s.append(time.perf_counter() - self.begun_s)

    def finish(self) -> Started:
        now_s = time.perf_counter() - self.begun_s
        assigned_s = self.assigned_s or [now_s]
        return Started(assigned_s[0], assigned_s[-1], now_s, len(assigned_s))


class Together:
    """Keeps the members of a process in their groups until all of them have received their first record."""

    def __init__(self, members: int) -> None:
        self._left = members
        self._lock = threading.Lock()
        self.is_done = False

    def one_is_done(self) -> None:
        with self._lock:
            self._left -= 1
            self.is_done = self._left == 0


# Clients


def in_threads(plan: Plan, start: Barrier, member: Callable[[Plan, int, Watch, Together], Started]) -> list[Started]:
    """Run each member in a thread."""
    found: list[Started] = []
    together = Together(len(plan.members))
    start.wait()
    begun_s = time.perf_counter()

    def run(group: int) -> None:
        found.append(member(plan, group, Watch(begun_s), together))

    threads = [threading.Thread(target=run, args=(group,)) for group in plan.members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def confluent_member(plan: Plan, group: int, watch: Watch, together: Together) -> Started:
    import confluent_kafka

    properties = {"bootstrap.servers": plan.bootstrap, "group.id": plan.group(group)}
    consumer = confluent_kafka.Consumer({**properties, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([plan.topic(group)], on_assign=lambda _, partitions: watch.assigned())
    return _until_all_are_done(lambda: consumer.poll(0.1), consumer.close, watch, together)


def kafka_python_member(plan: Plan, group: int, watch: Watch, together: Together) -> Started:
    import kafka

    class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: Any) -> None:
            pass

        def on_partitions_assigned(self, assigned: Any) -> None:
            watch.assigned()

    consumer = kafka.KafkaConsumer(
        bootstrap_servers=plan.bootstrap.split(","),
        group_id=plan.group(group),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([plan.topic(group)], listener=Listener())
    return _until_all_are_done(lambda: consumer.poll(100), consumer.close, watch, together)


def _until_all_are_done(
    poll: Callable[[], object], close: Callable[[], object], watch: Watch, together: Together
) -> Started:
    """Poll for the first record, then keep polling so that the group stays complete while other members wait."""
    deadline = time.monotonic() + PATIENCE_S
    while not poll() and time.monotonic() < deadline:
        pass
    started = watch.finish()
    together.one_is_done()
    while not together.is_done and time.monotonic() < deadline:
        poll()
    close()
    return started


def aiokafka_members(plan: Plan, start: Barrier) -> list[Started]:
    import aiokafka
    from aiokafka.abc import ConsumerRebalanceListener

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def __init__(self, watch: Watch) -> None:
            self.watch = watch

        def on_partitions_revoked(self, revoked: Any) -> None:
            pass

        def on_partitions_assigned(self, assigned: Any) -> None:
            self.watch.assigned()

    async def member(group: int, begun_s: float, left: list[int], done: asyncio.Event) -> Started:
        watch = Watch(begun_s)
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=plan.bootstrap,
            group_id=plan.group(group),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        consumer.subscribe([plan.topic(group)], listener=Listener(watch))
        await consumer.start()
        await asyncio.wait_for(consumer.getone(), PATIENCE_S)
        started = watch.finish()
        left[0] -= 1
        if not left[0]:
            done.set()
        await done.wait()
        await consumer.stop()
        return started

    async def run() -> list[Started]:
        left, done = [len(plan.members)], asyncio.Event()
        begun_s = time.perf_counter()
        return list(await asyncio.gather(*(member(group, begun_s, left, done) for group in plan.members)))

    start.wait()
    return asyncio.run(run())


CLIENTS: dict[str, Callable[[Plan, Barrier], list[Started]]] = {
    "confluent": lambda plan, start: in_threads(plan, start, confluent_member),
    "kafka-python": lambda plan, start: in_threads(plan, start, kafka_python_member),
    "aiokafka": aiokafka_members,
}


def _process(client: str, plan: Plan, start: Barrier, results: Any) -> None:
    started = CLIENTS[client](plan, start)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    results.put((started, usage.ru_utime + usage.ru_stime))


# Brokers


def start_kafkalet(brokers: int) -> subprocess.Popen[str]:
    command = ["serve", "--listen", "127.0.0.1:0", "--brokers", str(brokers), "--log-level", "error"]
    arguments = [sys.executable, "-m", "kafkalet", *command]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def cpu_s(pids: Sequence[int]) -> float:
    """Return the processor time that the processes have used so far, in seconds."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_SECOND


def prepare(plan: Plan, groups: int, members: int) -> None:
    """Create and fill the topics; wait until a group has consumed a record, so that the coordinator is available."""
    import confluent_kafka
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": plan.bootstrap})
    topics = [NewTopic(plan.topic(group), members, 1) for group in range(groups)]
    for future in admin.create_topics(topics).values():
        future.result(60)
    producer = confluent_kafka.Producer({"bootstrap.servers": plan.bootstrap})
    for group in range(groups):
        for partition in range(members):
            producer.produce(plan.topic(group), b"first", partition=partition)
    producer.flush(60)
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": plan.bootstrap, "group.id": f"warm-{plan.run}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([plan.topic(0)])
    while consumer.poll(1.0) is None:
        pass
    consumer.close()


def measure(client: str, plan: Plan, processes: int, pids: Sequence[int]) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(processes + 1)
    results = context.Queue()
    shares = [plan._replace(members=plan.members[number::processes]) for number in range(processes)]
    started = [context.Process(target=_process, args=(client, share, start, results)) for share in shares]
    for process in started:
        process.start()
    start.wait()
    before_s, begun_s = cpu_s(pids), time.perf_counter()
    answers = [results.get() for _ in started]
    wall_s = time.perf_counter() - begun_s
    broker_s = cpu_s(pids) - before_s
    members = [member for found, _ in answers for member in found]
    for title, times in (
        ("first assignment", [member.first_assigned_s for member in members]),
        ("last assignment", [member.last_assigned_s for member in members]),
        ("first record", [member.first_record_s for member in members]),
    ):
        print(f"{title:<20} median {median(times):6.2f} s   slowest {max(times):6.2f} s")
    once = sum(member.assignments == 1 for member in members)
    print(f"{'assigned once':<20} {once} of {len(members)} members")
    print(f"{'processor time':<20} clients {sum(used for _, used in answers):.2f} s   brokers {broker_s:.2f} s", end="")
    print(f"   of {wall_s:.2f} s on {os.cpu_count()} processors, to the end of the last member", flush=True)
    for process in started:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.group_start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--client", choices=CLIENTS, default="confluent")
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--members", type=int, default=10, help="number of members in each group")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1, help="number of client processes")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--bootstrap", help="a running cluster to measure instead of kafkalet")
    parser.add_argument("--broker-pids", default="", help="process ids of its brokers, separated by commas")
    options = parser.parse_args()
    bootstrap, pids = options.bootstrap, [int(pid) for pid in options.broker_pids.split(",") if pid]
    own = None
    if bootstrap is None:
        own = start_kafkalet(options.brokers)
        assert own.stdout is not None
        bootstrap, pids = own.stdout.readline().strip().rpartition("=")[2], [own.pid]
    try:
        for number in range(options.runs):
            groups = [group for group in range(options.groups) for _ in range(options.members)]
            plan = Plan(bootstrap, f"{os.getpid()}-{number}", groups)
            prepare(plan, options.groups, options.members)
            measure(options.client, plan, options.processes, pids)
    finally:
        if own is not None:
            own.terminate()
            own.wait(10)


if __name__ == "__main__":
    main()
