"""What policies cost: a process to judge in, each request, each policy, 10,000 topics.

Each figure is the best of the rounds. *Plan* judges all requests in one go, as a plan does, and
*plan here* without a process; *broker* asks about one after another and accepts each, as the
embedded cluster's brokers do.

    uv run python benchmarks/policies.py                   # 10,000 topics, the shipped pack
    uv run python benchmarks/policies.py --topics 1000 --rounds 1 --each
"""

import argparse
import gc
import time
from collections.abc import Callable
from itertools import islice

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.requests import CreateTopicRequest, Request
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.policy.evaluate.bundle import (
    CelPolicy,
    CelValidation,
    Level,
    Policy,
    PythonPolicy,
    RequestMatch,
)
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.loading import load_rules
from kgitops.policy.worker.session import WorkerEvaluator

# All of the pack that can be configured without a file of its own.
PACK = {
    "BrokerConfigBounds": {"max.log.retention.ms": "30d"},
    "FrozenConfigs": {"keys": "cleanup.*"},
    "ImmutableConfigs": {},
    "MassDeleteGuard": {},
    "MinInsyncReplicasRange": {},
    "NamingByPrincipal": {"prefix": "team-"},
    "NoAllOnCluster": {},
    "NoManualAssignment": {},
    "NoPartitionGrowthOfKeyedTopics": {},
    "NoWildcardHosts": {},
    "NoWildcardPrincipals": {},
    "PartitionBudget": {"max": "1000000", "maxPerBroker": "1000000"},
    "PartitionRange": {"min": "1", "max": "48"},
    "ProtectFromDeletion": {"topics": "payments.*"},
    "QuotaCeilings": {"producer_byte_rate": "50MiB"},
    "RackSpread": {},
    "RecordDeletionLimit": {},
    "ReplicationFactorRange": {},
    "ReservedBrokers": {"brokers": "7, 8"},
    "RetentionRange": {"max": "30d"},
    "ShortRetentionOfBigTopics": {"partitions": "24", "max": "7d"},
    "TopicNaming": {"pattern": r"[a-z0-9.-]+"},
    "TopicSizeCap": {"max": "1000GiB"},
}
CEL = (
    "requested.replicationFactor >= 3",
    "requested.partitions <= 48",
    "int(requested.effectiveConfigs['min.insync.replicas']) < requested.replicationFactor",
    "request.name.startsWith('team-')",
)
CONFIGS = {
    "retention.ms": "604800000",
    "retention.bytes": "1073741824",
    "cleanup.policy": "delete",
    "min.insync.replicas": "2",
}
STATE = ClusterState(
    cluster_id="benchmark",
    backend="embedded",
    brokers=tuple(Broker(id=number, rack=f"rack-{number}") for number in (1, 2, 3)),
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--topics", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--each", action="store_true", help="each policy of the pack on its own")
    given = options.parse_args()
    requests = [creation(number) for number in range(given.topics)]
    print(f"{given.topics:,} topics, seconds, and microseconds a request and policy\n")
    print("| policies | start | plan here | plan | µs | broker | µs |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    sets: dict[str, list[Policy]] = {
        "none that judges": [in_python("NoWildcardHosts", {})],
        f"the pack: {len(PACK)} in Python": [*map(in_python, PACK, PACK.values())],
        f"{len(CEL) * 5} in CEL": [in_cel(number) for number in range(len(CEL) * 5)],
    }
    if given.each:
        sets |= {name: [in_python(name, configs)] for name, configs in PACK.items()}
        sets |= {f"CEL {CEL[number]}": [in_cel(number)] for number in range(len(CEL))}
    for name, policies in sets.items():
        print(row(name, policies, requests, given.rounds), flush=True)


def row(name: str, policies: list[Policy], requests: list[Request], rounds: int) -> str:
    here = InProcessEvaluator(load_rules(policies))
    at_home = best(rounds, lambda: in_one_go(here, requests))
    start = best(rounds, lambda: opened(policies).close())
    there = opened(policies)
    plan = best(rounds, lambda: in_one_go(there, requests))
    broker = best(rounds, lambda: one_by_one(there, requests))
    there.close()
    asked = len(requests) * len(policies) / 1e6
    return (
        f"| {name} | {start:.2f} | {at_home:.2f} | {plan:.2f} | {plan / asked:.1f} "
        f"| {broker:.2f} | {broker / asked:.1f} |"
    )


def opened(policies: list[Policy]) -> PolicyEvaluator:
    """A worker that is ready: started, and its policies loaded."""
    evaluator = WorkerEvaluator(policies)
    evaluator.begin(STATE, principal="User:benchmark")
    return evaluator


def in_one_go(evaluator: PolicyEvaluator, requests: list[Request]) -> None:
    evaluator.begin(STATE, principal="User:benchmark")
    judgements = evaluator.judge_all(requests)
    denied = [judgement.message for judgement in judgements if judgement.stops]
    assert not denied, list(islice(denied, 3))


def one_by_one(evaluator: PolicyEvaluator, requests: list[Request]) -> None:
    evaluator.begin(STATE, principal="User:benchmark")
    for request in requests:
        assert not evaluator.judge(request).stops
        evaluator.accept(request)


def best(rounds: int, work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(rounds):
        gc.collect()
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def creation(number: int) -> CreateTopicRequest:
    name = f"team-{number % 40}.topic-{number}"
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=((1, 2, 3), (2, 3, 1), (3, 1, 2)),
        configs=CONFIGS,
        requested_configs=CONFIGS,
        generated_replica_assignments=True,
    )
    return CreateTopicRequest(topic=name, requested_state=state)


def in_python(name: str, configs: dict[str, str]) -> PythonPolicy:
    return PythonPolicy(
        name=name,
        level=Level.HARD,
        digest="",
        class_=f"kgitops.policies:{name}",
        configs=configs,
    )


def in_cel(number: int) -> CelPolicy:
    return CelPolicy(
        name=f"cel-{number}",
        level=Level.HARD,
        digest="",
        match=RequestMatch(requests=("CreateTopic", "AlterTopic")),
        validations=(CelValidation(expression=CEL[number % len(CEL)]),),
    )


if __name__ == "__main__":
    main()
