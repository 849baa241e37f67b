"""The test that ``policy explain`` offers: of a request that the policy denies, if one is found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import astuple, replace

from kgitops.manifests.yaml.document import SourceText
from kgitops.manifests.yaml.parse import parse
from kgitops.model.errors import KgitopsError
from kgitops.model.source import Finding
from kgitops.policy.evaluate.bundle import Bundle, CelPolicy, Level, Policy
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluator import open_evaluator
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.reading import checked_test, read_suite
from kgitops.workflow.policy_tests.running import run_case


class SampleRequest(Struct, frozen=True):
    """A request as tests write it, what it is about, and the cluster that it needs."""

    address: str
    request: str
    cluster: str = ""


class OfferedTest(Struct, frozen=True):
    """The lines of a PolicyTest document that passes.

    Its request is ``denied``, unless the policy denies none of the samples.
    """

    lines: tuple[str, ...]
    denied: bool


def offer_test(policy: Policy, judges: Sequence[str] | None) -> OfferedTest | None:
    """Make the test, of a request among ``judges``, or of any where that is empty.

    None for a policy that can't be loaded, or that judges none of the samples.
    """
    if judges is None:
        return None
    hard = replace(policy, level=Level.HARD)
    try:
        with closing(open_evaluator(Bundle(policies=(hard,)))) as evaluator:
            return _offered(policy, judges, evaluator)
    except KgitopsError:  # planning reports why it can't be loaded
        return None


def _offered(
    policy: Policy, judges: Sequence[str], evaluator: PolicyEvaluator
) -> OfferedTest | None:
    passing: OfferedTest | None = None
    for sample in samples(policy, judges):
        suite = _suite_of(tuple(_lines(policy, sample, None)), policy.name)
        denied = _denies(suite, evaluator)
        if denied is None or (passing and not denied):
            continue
        offered = OfferedTest(tuple(_lines(policy, sample, denied)), denied)
        if denied:
            return offered
        passing = offered
    return passing


def _denies(suite: Suite, evaluator: PolicyEvaluator) -> bool | None:
    """Return whether the policy denies the request; None if it does not judge it, or fails."""
    outcome = run_case(suite.cases[0], suite, evaluator)
    return any(seen.denied for seen in outcome.seen) if outcome.seen else None


def _suite_of(lines: Sequence[str], policy: str) -> Suite:
    findings: list[Finding] = []
    for parsed in parse(SourceText("offered.yaml", "\n".join(lines)), findings):
        for test in checked_test(parsed, findings):
            suite = read_suite(test, policy, (policy,), findings)
    if findings:
        raise KgitopsError(f"the offered test is wrong: {findings[0]}")
    return suite


def _lines(policy: Policy, sample: SampleRequest, denied: bool | None) -> Iterator[str]:
    """The document; it expects nothing where it isn't known yet what is ``denied``."""
    yield "apiVersion: kgitops/v1"
    yield "kind: PolicyTest"
    # A policy's own test most often has its name, and two tests may not share one.
    yield f"metadata: {{name: {policy.name}-{'denies' if denied else 'passes'}}}"
    yield "spec:"
    yield f"  policy: {policy.name}"
    if sample.cluster:
        yield f"  cluster: {sample.cluster}"
    yield "  cases:"
    yield f"    - name: what {'is denied' if denied else 'passes'}"
    yield "      requests:"
    yield f"        - {sample.request}"
    if denied is not None:
        outcome = "denied" if denied else "passed"
        yield "      expect:"
        yield f'        - {{address: "{sample.address}", outcome: {outcome}}}'


def samples(policy: Policy, judges: Sequence[str]) -> Iterator[SampleRequest]:
    """The samples of the requests that the policy judges, of topics that it judges."""
    orders = _topic_that_it_judges(policy)
    for api in judges or SAMPLES:
        for sample in SAMPLES.get(api, ()):
            yield SampleRequest(*(text.replace("orders", orders) for text in astuple(sample)))


def _topic_that_it_judges(policy: Policy) -> str:
    names = policy.match.names if isinstance(policy, CelPolicy) else ()
    if not names or any(fnmatchcase("orders", name) for name in names):
        return "orders"
    return names[0].replace("*", "orders").replace("?", "x")


_TOPICS = "{topics: {orders: {partitions: 3, replicationFactor: 1}}}"
_VIRTUAL_CLUSTER = "{virtualClusters: {sales: {}}}"
_CONFIGS = (
    "retention.ms: -1",
    "retention.ms: 1000",
    "retention.bytes: -1",
    "cleanup.policy: compact",
    "min.insync.replicas: 1",
    "min.insync.replicas: 3",
    "max.message.bytes: 104857600",
    "compression.type: gzip",
    "unclean.leader.election.enable: true",
)


def _of_topic(request: str, cluster: str = _TOPICS) -> SampleRequest:
    return SampleRequest("topic/orders", request, cluster)


def _of_acl(
    principal: str, operation: str, kind: str, name: str
) -> tuple[SampleRequest, SampleRequest]:
    """The samples that give the right, and take it back."""
    resource = f'{{type: {kind}, name: "{name}"}}'
    acl = (
        f'{{principal: "{principal}", permission: Allow, operation: {operation}, '
        f"resource: {resource}}}"
    )
    address = f"acl/{principal}/Allow/{operation}/{kind}/literal/{name}@*"
    return (
        SampleRequest(address, f"createAcl: {acl}"),
        SampleRequest(address, f"deleteAcl: {acl}", f"{{acls: [{acl}]}}"),
    )


_ACLS = (
    _of_acl("User:*", "All", "topic", "*"),
    _of_acl("User:sales-app", "All", "cluster", "kafka-cluster"),
)
SAMPLES: Mapping[str, Sequence[SampleRequest]] = {
    "CreateTopic": (
        _of_topic("createTopic: {name: orders, partitions: 3, replicationFactor: 1}", ""),
        _of_topic("createTopic: {name: orders, partitions: 3, replicationFactor: 3}", ""),
        _of_topic("createTopic: {name: orders, partitions: 1000, replicationFactor: 3}", ""),
        *(
            _of_topic(
                "createTopic: {name: orders, partitions: 3, replicationFactor: 3, "
                f"configs: {{{config}}}}}",
                "",
            )
            for config in _CONFIGS
        ),
    ),
    "AlterTopic": (
        _of_topic("alterTopic: {name: orders, partitions: 4}"),
        _of_topic("alterTopic: {name: orders, partitions: 1000}"),
        *(_of_topic(f"alterTopic: {{name: orders, configs: {{{it}}}}}") for it in _CONFIGS),
    ),
    "DeleteTopic": (_of_topic("deleteTopic: {name: orders}"),),
    "DeleteRecords": (
        _of_topic("deleteRecords: {name: orders, offsets: {0: 100}}"),
        _of_topic("deleteRecords: {name: orders, offsets: {0: 100, 1: 100, 2: 100}}"),
        _of_topic("deleteRecords: {name: orders, offsets: {0: 1000000000}}"),
    ),
    "CreateAcl": tuple(given for given, _ in _ACLS),
    "DeleteAcl": tuple(taken for _, taken in _ACLS),
    "AlterClientQuota": (
        SampleRequest(
            "quota/user=billing",
            "alterClientQuota: {entity: {user: billing}, quotas: {consumer_byte_rate: 1000000}}",
        ),
        SampleRequest(
            "quota/user=billing",
            "alterClientQuota: {entity: {user: billing}, quotas: {producer_byte_rate: 1GiB, "
            "consumer_byte_rate: 1GiB, request_percentage: 1000, controller_mutation_rate: 1000}}",
        ),
    ),
    "AlterUserScramCredentials": (
        SampleRequest(
            "user/sales-app",
            "alterUserScramCredentials: {name: sales-app, mechanism: SCRAM-SHA-256, "
            "iterations: 4096}",
        ),
        SampleRequest(
            "user/sales-app",
            "alterUserScramCredentials: {name: sales-app, mechanism: SCRAM-SHA-256}",
            "{users: {sales-app: [{mechanism: SCRAM-SHA-256}]}}",
        ),
    ),
    "AlterConfigResource": (
        SampleRequest(
            "group/billing",
            "alterConfigResource: {resourceType: GROUP, resourceName: billing, "
            "configs: {consumer.session.timeout.ms: 6000}}",
        ),
    ),
    "AlterConsumerGroupOffsets": (
        SampleRequest(
            "group/billing",
            "alterConsumerGroupOffsets: {group: billing, offsets: {orders: {0: 100}}}",
        ),
    ),
    "DeleteConsumerGroup": (
        SampleRequest("group/billing", "deleteConsumerGroup: {group: billing}"),
    ),
    "AlterBroker": (
        SampleRequest("broker/1", "alterBroker: {id: 1, configs: {log.retention.ms: 1000}}"),
        SampleRequest("broker/1", "alterBroker: {id: 1, configs: {message.max.bytes: 104857600}}"),
    ),
    "CreateVirtualCluster": (SampleRequest("vc/sales", "createVirtualCluster: {name: sales}"),),
    "AlterVirtualCluster": (
        SampleRequest(
            "vc/sales/user/User:app",
            "alterVirtualCluster: {name: sales, add: {user: app}}",
            _VIRTUAL_CLUSTER,
        ),
    ),
    "DeleteVirtualCluster": (
        SampleRequest("vc/sales", "deleteVirtualCluster: {name: sales}", _VIRTUAL_CLUSTER),
    ),
    "CreateTopicLink": (
        SampleRequest(
            "vc/sales/link/orders",
            "createTopicLink: {virtualCluster: sales, link: orders, topic: orders}",
            "{topics: {orders: {partitions: 3, replicationFactor: 1}}, "
            "virtualClusters: {sales: {}}}",
        ),
        SampleRequest(
            "vc/sales/link/orders",
            "createTopicLink: {virtualCluster: sales, link: orders, topic: orders}",
            "{topics: {orders: {partitions: 3, replicationFactor: 1}}, "
            "virtualClusters: {sales: {}, hr: {links: {orders: orders}}}}",
        ),
    ),
    "DeleteTopicLink": (
        SampleRequest(
            "vc/sales/link/orders",
            "deleteTopicLink: {virtualCluster: sales, link: orders}",
            "{topics: {orders: {partitions: 3, replicationFactor: 1}}, "
            "virtualClusters: {sales: {links: {orders: orders}}}}",
        ),
    ),
}
"""Requests by their API, the plainest first."""
