"""Every rule of KIP-1134 is proven by a test that cites it, or it says why not."""

from test_cited_rules import cited_by_tests, rules

NO_SUCH_FLAG = "the contract's §3 lists the commands, and what is not in it doesn't exist"
DOES_NOT_APPLY = {
    "VC-070": "embedded brokers count no mutations, and throttle nobody",
    "VC-125": "WRITE_TXN_MARKERS is not modelled; the list that allows it is VC-151's and VC-155's",
    "VC-160c": "SCRAM credentials are not modelled by the embedded cluster",
    "VC-174": "how confluent-kafka calls CLUSTER; the wire is spoken without its admin client",
    "VC-212": "embedded brokers keep quotas and measure nothing, so per broker can't be seen",
    "VC-218": "quotas go over the wire, so a Kafka without a quota API is none of the cases",
    "VC-247": "embedded brokers count no mutations, and no Kafka is sent such a request",
    "VC-281": NO_SUCH_FLAG,
    "VC-282": NO_SUCH_FLAG,
    "VC-283": NO_SUCH_FLAG,
    "VC-284": "the contract's §4 has other exit codes, and a test for each",
    "VC-303": "a statement about the stability of Java's Admin API",
    "VC-304": "an observation on the Admin API; what it asks for is VC-143's and VC-208's",
    "VC-318": "nobody subscribes: who asks is answered from the image of that moment",
    "VC-325": "the registry is the one of all kinds, made by the first apply with any change",
    "VC-328": "the registry's lock and fence stand in for a fixed transactional id",
    "VC-335": "the KIP has no metrics, and kgitops exports none",
    "VC-336": "an observation on the brokers' own metrics",
    "VC-366": "no test moves a topic to another virtual cluster yet",
    "VC-369": "a rejected alternative; no option or config of brokers declares a virtual cluster",
    "VC-375": "asks for unit tests: tests/virtual_clusters, tests/lowering",
    "VC-376": "asks for integration tests: tests/cluster_contract, tests/cluster, tests/kafka",
    "VC-379": "a list of negative tests, each of which cites its own rule",
}


def virtual_cluster_rules() -> frozenset[str]:
    return frozenset(rule for rule in rules() if rule.startswith("VC-"))


def test_every_rule_of_virtual_clusters_is_cited_by_a_test() -> None:
    assert len(virtual_cluster_rules()) == 282
    missing = virtual_cluster_rules() - cited_by_tests() - DOES_NOT_APPLY.keys()
    assert sorted(missing) == []


def test_what_does_not_apply_are_rules_that_nobody_proves() -> None:
    assert DOES_NOT_APPLY.keys() <= virtual_cluster_rules()
    assert not DOES_NOT_APPLY.keys() & cited_by_tests()
