"""What bindings have in common is found by their patterns, each once and in the order of filing."""

from builders import a_binding
from hypothesis import given
from hypothesis import strategies as st

from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.plan.access import PatternIndex, covers

bindings = st.builds(
    lambda name, pattern: a_binding(name=name, pattern=pattern),
    st.sampled_from(["*", "a", "a.", "a.b", "a.b.c", "ab", "b"]),
    st.sampled_from(PatternType),
)


def filed(bindings: list[AclBinding]) -> PatternIndex[AclBinding]:
    patterns: PatternIndex[AclBinding] = PatternIndex()
    for binding in bindings:
        patterns.add(binding, binding)
    return patterns


@given(st.lists(bindings, unique=True), bindings)
def test_two_meet_where_one_covers_the_other(rules: list[AclBinding], asked: AclBinding) -> None:
    met = list(filed(rules).meeting(asked))
    assert len(met) == len(set(met))
    assert set(met) == {rule for rule in rules if covers(rule, asked) or covers(asked, rule)}


@given(st.lists(bindings, unique=True))
def test_what_is_below_a_prefix_comes_in_the_order_of_filing(rules: list[AclBinding]) -> None:
    asked = a_binding(name="a.", pattern=PatternType.PREFIXED)
    below = [rule for rule in filed(rules).meeting(asked) if not covers(rule, asked)]
    for pattern in PatternType:
        alike = [rule for rule in rules if rule in below and rule.pattern_type is pattern]
        assert [rule for rule in below if rule.pattern_type is pattern] == alike


def test_what_is_filed_after_a_question_counts_for_the_next() -> None:
    one, two = (a_binding(name=name) for name in ("a.1", "a.2"))
    asked = a_binding(name="a.", pattern=PatternType.PREFIXED)
    patterns = filed([two])
    assert list(patterns.meeting(asked)) == [two]
    patterns.add(one, one)
    assert list(patterns.meeting(asked)) == [two, one]
