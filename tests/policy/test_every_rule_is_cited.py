"""Every rule of KIP-201 and KIP-108 is proven by a test that cites it, or it says why not."""

from test_cited_rules import cited_by_tests, rules

DOES_NOT_APPLY = {
    "P108-10": "background: what existed when KIP-108 was written",
    "P108-11": "future work of KIP-108: KIP-201's one key is the first part, and Python has no "
    "class loaders",
}


def policy_rules() -> frozenset[str]:
    return frozenset(rule for rule in rules() if rule.startswith(("P201-", "P108-")))


def test_every_rule_of_policies_is_cited_by_a_test() -> None:
    assert len(policy_rules()) == 143
    missing = policy_rules() - cited_by_tests() - DOES_NOT_APPLY.keys()
    assert sorted(missing, key=lambda rule: (rule[:4], int(rule[5:]))) == []


def test_what_does_not_apply_are_rules_that_nobody_proves() -> None:
    assert DOES_NOT_APPLY.keys() <= policy_rules()
    assert not DOES_NOT_APPLY.keys() & cited_by_tests()
