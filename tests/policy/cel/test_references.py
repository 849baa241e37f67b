"""Only what expressions read of a request is converted, and they say the same as of all of it."""

from itertools import product

import pytest
from policy.cel.writing import one, read

from kgitops.policy.cel.compiler import compile_policy
from kgitops.policy.cel.engine import EvaluationError, compile_expression, evaluate, new_context
from kgitops.policy.cel.evaluation_context import references_of
from kgitops.policy.cel.parser import parse
from kgitops.policy.cel.rule import Sample, samples
from kgitops.policy.cel.variables import REQUEST_VARIABLES, Selection, read_variables


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("requested.partitions > 1", {"requested": {"partitions": None}}),
        ("requested.configs['a'] == '1'", {"requested": {"configs": {"a": None}}}),
        ('requested.configs["a"] == r"1"', {"requested": {"configs": {"a": None}}}),
        ("'a' in requested.configs", {"requested": {"configs": {"a": None}}}),
        ("!('a' in requested.configs)", {"requested": {"configs": {"a": None}}}),
        ("has(requested.configs.a)", {"requested": {"configs": {"a": None}}}),
        ("change.configs['a'].after == '1'", {"change": {"configs": {"a": None}}}),
        ("requested['partitions'] > 1", {"requested": {"partitions": None}}),
        (
            "requested.configs['a'] == current.configs['b']",
            {"requested": {"configs": {"a": None}}, "current": {"configs": {"b": None}}},
        ),
        (
            "requested.configs['a'] == requested.configs['b']",
            {"requested": {"configs": {"a": None, "b": None}}},
        ),
        # All of a map is read where what is read of it is not known, or is all of it.
        (
            "requested.configs['a'] == '1' || size(requested.configs) > 3",
            {"requested": {"configs": None}},
        ),
        (
            "requested.configs[requested.name] == '1'",
            {"requested": {"configs": None, "name": None}},
        ),
        ("requested.configs.all(key, key != 'a')", {"requested": {"configs": None}}),
        ("requested.configs == {'a': '1'}", {"requested": {"configs": None}}),
        (r"requested.configs['\x61'] == '1'", {"requested": {"configs": None}}),
        ("requested.configs['''a'''] == '1'", {"requested": {"configs": None}}),
        ("requested.name in requested.configs", {"requested": {"configs": None, "name": None}}),
        ("requested.assignments[0][0] == 1", {"requested": {"assignments": None}}),
        ("current != null", {"current": {}}),
        ("current != null && 'a' in current.configs", {"current": {"configs": {"a": None}}}),
    ],
)
def test_a_policy_reads_the_keys_that_it_names(text: str, parts: Selection) -> None:
    assert references_of(parse(text)).parts == parts


def test_a_variable_of_the_policy_reads_what_its_expression_reads() -> None:
    text = one("variables.a == '1'", variables={"a": "requested.configs['a']"})
    parts = compile_policy(read(text)).references.parts
    assert parts == {"requested": {"configs": {"a": None}}}


FORMS = (
    "'{key}' in {place}",
    "has({place}.{key})",
    "{place}['{key}'] == {place}['a']",
    "{place}['{key}']",
    "'{key}' in {place} && {place}['{key}'] != null",
    "{place}.{key} == {place}['{key}'] && size({place}) > 1",
)


def value(text: str, sample: Sample, selection: Selection) -> object:
    """The value of the expression, or why it has none."""
    values = read_variables(sample.policy_input, sample.cluster, selection)
    try:
        return evaluate(compile_expression(text), new_context(values, {}))
    except EvaluationError as error:
        return error.text


@pytest.mark.parametrize("api", REQUEST_VARIABLES)
def test_what_is_read_gives_the_same_value_as_everything(api: str) -> None:
    """For each map and object of each kind of request, with keys that it has and has not."""
    seen: set[object] = set()
    for sample in samples(api, ["a"]):
        for root, fields in read_variables(sample.policy_input, sample.cluster, None).items():
            for field, found in (fields or {}).items():
                if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
                    continue
                keys = [key for key in found if key.isidentifier()]
                for form, key in product(FORMS, [*keys[:3], "a", "missing"]):
                    text = form.format(key=key, place=f"{root}.{field}")
                    parts = references_of(parse(text)).parts
                    expected = value(text, sample, None)
                    assert value(text, sample, parts) == expected, text
                    seen.add(str(expected))
    assert seen
