"""What policies in CEL say of requests."""

import json

import pytest
from policy.asking import deletion
from policy.cel.writing import (
    BROKERS,
    TOPICS,
    alteration,
    creation,
    document,
    findings,
    judged,
    one,
    read,
    said,
    state,
    topic,
)

from kgitops.model.cluster_state import Broker
from kgitops.policy.cel.evaluation_context import EvaluationContexts
from kgitops.policy.cel.rule import MAX_MESSAGE, load_cel
from kgitops.policy.evaluate.bundle import Level, Outcome
from kgitops.policy.evaluate.judge import InProcessEvaluator

MIN_INSYNC = document(
    "match: {requests: [CreateTopic, AlterTopic], names: ['payments.*']}\n"
    "variables:\n"
    "  - {name: isr, expression: \"int(requested.configs['min.insync.replicas'])\"}\n"
    "validations:\n"
    "  - expression: variables.isr == requested.replicationFactor - 1\n"
    "    messageExpression: \"'min.insync.replicas is ' + string(variables.isr)\"\n"
    "    field: configs.min.insync.replicas\n"
)


def test_the_contracts_policy_denies_and_says_the_field() -> None:
    request = creation("payments.orders", {"min.insync.replicas": "1"})
    (ruling,) = judged(MIN_INSYNC, request)
    assert (ruling.outcome, ruling.level) == (Outcome.DENIED, Level.HARD)
    assert ruling.message == "min.insync.replicas is 1"
    assert ruling.field == "configs.min.insync.replicas"


def test_the_contracts_policy_accepts() -> None:
    (ruling,) = judged(MIN_INSYNC, creation("payments.a", {"min.insync.replicas": "2"}))
    assert ruling.outcome is Outcome.PASSED


def test_a_name_that_does_not_match_is_not_judged() -> None:
    assert judged(MIN_INSYNC, creation("orders", {"min.insync.replicas": "1"})) == ()


def test_a_request_that_does_not_match_is_not_judged() -> None:
    assert judged(MIN_INSYNC, deletion("payments.a"), state(topic("payments.a"))) == ()


def test_a_key_that_is_missing_denies_and_says_which() -> None:
    (ruling,) = judged(MIN_INSYNC, creation("payments.orders"))
    assert ruling.stops
    assert ruling.crashed
    assert (
        "variables.isr == requested.replicationFactor - 1 can't be evaluated: "
        "there is no key min.insync.replicas" in ruling.message
    )


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("payments.*", "payments.a", True),
        ("payments.*", "payments", False),
        ("payments.*", "paymentsXa", False),
        ("payments.*", "Payments.a", False),
        ("p?y", "pay", True),
        ("p?y", "paay", False),
        ("a[bc]", "ab", False),
        ("a[bc]", "a[bc]", True),
        ("*", "anything", True),
        ("*a" * 30 + "b", "a" * 200, False),  # a pattern that could take for ever
    ],
)
def test_names_are_matched_by_patterns(pattern: str, name: str, matches: bool) -> None:
    text = document(
        f"match: {{requests: [CreateTopic], names: [{json.dumps(pattern)}]}}\n"
        "validations: [{expression: 'false'}]\n"
    )
    assert bool(said(text, creation(name))) is matches


def test_each_validation_that_is_false_is_a_violation_of_its_own() -> None:
    text = document(
        "match: {requests: [CreateTopic]}\n"
        "validations:\n"
        "  - {expression: requested.partitions < 3, message: too many partitions}\n"
        "  - {expression: requested.replicationFactor == 3}\n"
        "  - {expression: requested.name.startsWith('team.'), message: no team}\n"
    )
    assert [ruling.message for ruling in judged(text, creation())] == [
        "too many partitions",
        "no team",
    ]


def test_without_a_message_the_expression_is_shown() -> None:
    text = one("requested.partitions\n  < 3")
    assert said(text, creation()) == "this must be true: requested.partitions < 3"


@pytest.mark.parametrize(
    ("message_expression", "words"),
    [
        ("'it has ' + string(requested.partitions)", "it has 3"),
        ("requested.configs['a']", "the message"),  # it fails
        ("'  '", "the message"),
        ("'two\\nlines  and\\tmore'", "two lines and more"),
        ("'é ' + '\\u2713 ' + requested.name", "é ✓ orders"),
    ],
)
def test_a_message_is_computed_or_the_written_one_is_said(
    message_expression: str, words: str
) -> None:
    text = one("false", message="the message", message_expression=message_expression)
    assert said(text, creation()) == words


def test_a_message_that_fails_without_another_still_denies() -> None:
    text = one("requested.partitions < 3", message_expression="requested.configs['a']")
    assert said(text, creation()) == "this must be true: requested.partitions < 3"


def test_a_message_is_cut() -> None:
    doubled = " + ".join(["requested.configs['x']"] * 3)
    text = one("false", message_expression=doubled)
    words = said(text, creation(configs={"x": "y" * 1_000}))
    assert len(words) == MAX_MESSAGE
    assert words.endswith("y…")


def test_a_condition_that_is_false_lets_the_request_pass() -> None:
    text = one("false", condition="principal.name != 'platform'")
    assert judged(text, creation(), principal="User:platform")[0].outcome is Outcome.PASSED
    assert judged(text, creation(), principal="User:sales").stops


def test_a_condition_that_cannot_be_evaluated_denies() -> None:
    text = one("true", condition="requested.configs['a'] == 'b'")
    (ruling,) = judged(text, creation())
    assert ruling.crashed
    assert "there is no key a" in ruling.message


def test_a_false_condition_decides_whatever_the_others_do() -> None:
    text = document(
        "match: {requests: [CreateTopic]}\n"
        "matchConditions:\n"
        "  - {name: fails, expression: \"requested.configs['a'] == 'b'\"}\n"
        "  - {name: not-me, expression: \"principal.name != 'kgitops'\"}\n"
        "validations: [{expression: 'false'}]\n"
    )
    assert judged(text, creation())[0].outcome is Outcome.PASSED


def test_a_variable_is_evaluated_only_where_it_is_reached() -> None:
    text = one(
        "!('a' in requested.configs) || variables.a > 5",
        variables={"a": "int(requested.configs['a'])"},
    )
    assert said(text, creation()) == ""
    assert said(text, creation(configs={"a": "7"})) == ""
    assert "must be true" in said(text, creation(configs={"a": "3"}))


def test_a_variable_keeps_its_own_order_of_operators() -> None:
    text = one("variables.sum * 2 == 10", variables={"sum": "2 + 3"})
    assert said(text, creation()) == ""


def test_a_variable_may_use_one_before_it_and_names_in_text_are_left_alone() -> None:
    text = one(
        "variables.b == 'variables.a' && !('variables.b' in ['x'])",
        variables={"a": "'variables'", "b": "variables.a + '.a' // variables.c"},
    )
    assert said(text, creation()) == ""


def test_a_loop_in_a_variable_does_not_catch_the_loop_around_it() -> None:
    text = one(
        "[1, 2].all(i, variables.threes.all(j, j > i))",
        variables={"threes": "[2, 3].map(i, i + 1)"},
    )
    assert said(text, creation()) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "current == null || current.partitions <= requested.partitions",
        "current == null ? true : requested.replicationFactor == current.replicationFactor",
        "request.api != 'AlterTopic' || current.name == requested.name",
    ],
)
def test_a_policy_for_creating_and_altering_asks_for_null(expression: str) -> None:
    text = one(expression, requests=TOPICS)
    assert findings(text) == []
    assert said(text, creation()) == ""
    assert said(text, alteration(topic()), state(topic())) == ""


def test_current_is_what_the_cluster_holds() -> None:
    text = one("current.partitions < requested.partitions", requests=["AlterTopic"])
    more = alteration(topic(), assignment=((1, 2, 3), (1, 2, 3)))
    assert said(text, more, state(topic())) == ""
    assert said(text, alteration(topic()), state(topic())) != ""


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("requested.configs.all(k, k in ['a', 'b'])", True),
        ("requested.configs.all(k, requested.configs[k] == '1')", False),
        ("requested.configs.exists(k, k == 'b')", True),
        ("requested.configs.exists_one(k, requested.configs[k] == '2')", True),
        ("requested.configs.filter(k, requested.configs[k] == '2') == ['b']", True),
        ("requested.configs.map(k, k + '=' + requested.configs[k]) == ['a=1', 'b=2']", True),
        ("requested.configs.map(k, k == 'b', requested.configs[k]) == ['2']", True),
        ("requested.assignments.all(replicas, replicas.size() == 3)", True),
        ("requested.assignments.map(replicas, replicas[0]) == [1, 2, 3]", True),
        ("cluster.brokers.filter(b, b.rack == 'rack-2').map(b, b.id) == [2]", True),
        ("{'x': 1, 'y': 2}.all(k, k in ['x', 'y'])", True),
        ("[[1], [2, 3]].all(l, l.all(n, n > 1))", False),
        ("size(requested.configs) == 2 && size([1, 2, 3]) == 3", True),
        ("requested.configs == {'a': '1', 'b': '2'}", True),
    ],
)
def test_loops_over_maps_and_lists(expression: str, holds: bool) -> None:
    request = creation(configs={"b": "2", "a": "1"})
    assert (said(one(expression), request) == "") is holds


def test_a_loop_over_a_map_goes_in_the_order_of_its_keys() -> None:
    """The library's own order is by chance, and a message must be the same in every plan."""
    configs = {f"key{number:02}": "1" for number in range(40)}
    text = one(
        "false",
        message_expression="string(requested.configs.map(k, k)[0].size()) + ' ' "
        "+ requested.configs.map(k, k)[0] + requested.configs.filter(k, true)[39]",
    )
    assert said(text, creation(configs=configs)) == "5 key00key39"


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("size('é✓😀') == 3 && 'é✓😀'.size() == 3", True),
        ("'naïve'.contains('ï') && 'ÄÖ'.startsWith('Ä') && 'ÄÖ'.endsWith('Ö')", True),
        (r"'naïve'.matches('^\\w+$') && '\u00e9' == 'é'", True),
        ("{'ключ': 'значение'}['ключ'] == 'значение'", True),
    ],
)
def test_text_is_unicode(expression: str, holds: bool) -> None:
    assert (said(one(expression), creation()) == "") is holds


@pytest.mark.parametrize(
    "expression",
    [
        "durationMs('7d') == 604800000 && durationMs('1h30m') == 5400000",
        "byteSize('1GiB') == 1073741824 && byteSize('1kB') == 1000",
        "durationMs(requested.configs['a']) == 86400000",
        "partitions('payments.') == 2 && partitions('') == 3 && partitions('none.') == 0",
        "partitions(principal.name.size() > 3 ? 'payments.' : '') == 2",
        "topicExists('payments.a') && !topicExists(requested.name)",
        "int('604800000') == 604800000 && double('1.5') == 1.5 && string(3) == '3'",
        "cluster.size == 3 && cluster.topics == 2 && cluster.partitions == 3",
        "cluster.defaults['cleanup.policy'] == 'delete'",
        "requested.effectiveConfigs['a'] == '1d'",
        "requested.effectiveConfigs['min.insync.replicas'] == '1'",
    ],
)
def test_functions(expression: str) -> None:
    cluster = state(
        topic("payments.a", assignment=((1,), (2,))),
        topic("other", assignment=((1,),)),
        topic("__consumer_offsets", assignment=((1,),) * 50),
    )
    assert said(one(expression), creation(configs={"a": "1d"}), cluster) == ""


def test_a_function_that_fails_denies_and_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    text = one("durationMs(requested.configs['a']) > 1")
    (ruling,) = judged(text, creation(configs={"a": "soon"}))
    assert "durationMs(): 'soon' is not a duration" in ruling.message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("int(requested.name) > 1", "int(): "),
        ("requested.partitions / (requested.partitions - 3) == 1", "it divides by zero"),
        ("requested.partitions * 9223372036854775807 > 1", "a number is beyond 64 bits"),
        ("requested.assignments[9] == []", "the list has no such item"),
        ("requested.name.matches(requested.configs['('])", "not a valid regex"),
    ],
)
def test_what_only_a_request_shows_denies_it(expression: str, why: str) -> None:
    (ruling,) = judged(one(expression), creation(configs={"(": "("}))
    assert ruling.crashed
    assert why in ruling.message
    assert "\n" not in ruling.message


def test_racks_that_are_not_set_are_null() -> None:
    text = one("cluster.brokers.all(b, b.rack != null && b.rack.startsWith('rack'))")
    assert said(text, creation(), state(brokers=BROKERS)) == ""
    assert said(text, creation(), state(brokers=(*BROKERS, Broker(id=4)))) != ""


def test_policies_share_what_they_read_and_each_sees_every_request() -> None:
    """What is asked next must never be judged on what was asked before."""
    contexts = EvaluationContexts()
    texts = [
        one("requested.partitions < 4"),
        one("requested.configs.all(k, k == 'a') && requested.name.startsWith('t')"),
        one("partitions('t') + change.partitions <= 8"),
    ]
    judge = InProcessEvaluator([load_cel(read(text), contexts) for text in texts])
    judge.begin(state(), principal="User:kgitops")
    requests = [creation(f"t{number}", assignment=((1,),) * number) for number in range(1, 6)]
    stops = [judgement.stops for judgement in judge.judge_all(requests)]
    # 1, 2 and 3 partitions are accepted, 4 and 5 are more than any topic may have.
    assert stops == [False, False, False, True, True]
    wrong = judge.judge(creation("t9", {"b": "1"}, assignment=((1,),)))
    assert [ruling.outcome for ruling in wrong] == ["passed", "denied", "passed"]


def test_the_cluster_is_what_the_requests_before_made_of_it() -> None:
    judge = InProcessEvaluator(
        [load_cel(read(one("cluster.topics < 2 && cluster.partitions < 5")))]
    )
    judge.begin(state(topic("__consumer_offsets")), principal="User:kgitops")
    requests = [creation(name, assignment=((1,), (2,))) for name in ("a", "b", "c")]
    assert [judgement.stops for judgement in judge.judge_all(requests)] == [False, False, True]


def test_kubernetes_shapes_that_people_paste_work_or_say_what_to_write() -> None:
    pasted = document(
        "matchConditions:\n"
        "  - name: exclude-system\n"
        "    expression: '!requested.name.startsWith(\"system-\")'\n"
        "match: {requests: [CreateTopic]}\n"
        "validations:\n"
        "  - expression: object.spec.replicas <= 5\n"
        "    reason: Invalid\n"
    )
    with pytest.raises(Exception, match=r"spec.validations\[0\].reason is not a field of Policy"):
        read(pasted)
    (words,) = findings(pasted.replace("    reason: Invalid\n", ""))
    assert words == "p.yaml:10:19: policy p: there is no variable object; write requested"
