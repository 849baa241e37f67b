"""Our reading of CEL is the library's, and no text whatever does harm."""

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tiers import examples

from kgitops.model.errors import FindingsError
from kgitops.policy.cel.engine import CompileError, EvaluationError, compile_expression, evaluate
from kgitops.policy.cel.parser import SyntaxProblem, parse, text_of
from kgitops.policy.cel.rule import load_cel
from kgitops.policy.evaluate.bundle import (
    CelExpression,
    CelPolicy,
    CelValidation,
    Level,
    RequestMatch,
)

LEAVES = st.sampled_from(
    [
        *("0", "1", "2", "1.5", ".5", "1e3", "0x1F", "'a'", '""', "r'\\d'", "'''b'''", "'\\x41é'"),
        *("true", "false", "null", "[]", "{}", "[1, 2,]", "{'k': 1}", "size('é')", "// x\n1"),
    ]
)
OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(inner, OPERATORS, inner).map(" ".join)
    return st.one_of(
        binary,
        binary,
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"!({text})"),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"({text})[0]"),
        inner.map(lambda text: f"int({text})"),
        st.tuples(inner, inner).map("{0[0]}, {0[1]}".format).map(lambda text: f"[{text}]"),
        st.tuples(inner, inner).map("[1, 2].all(x, {0[0]} == x || {0[1]})".format),
        st.tuples(inner, inner).map("[{0[0]}].map(x, {0[1]})".format),
        st.tuples(inner, inner, inner).map("{0[0]} ? {0[1]} : {0[2]}".format),
    )


def _answer(text: str) -> object:
    try:
        answer = evaluate(compile_expression(text), None)
    except EvaluationError as error:
        return error.text
    return "nan" if isinstance(answer, float) and math.isnan(answer) else repr(answer)


@settings(max_examples=examples(400))
@given(st.recursive(LEAVES, _larger, max_leaves=8))
def test_an_expression_means_the_same_after_it_was_parsed(text: str) -> None:
    try:
        compile_expression(text)
    except CompileError:
        return
    assert _answer(text_of(parse(text))) == _answer(text)


def policy(expression: str, *, variable: str = "true") -> CelPolicy:
    return CelPolicy(
        name="p",
        level=Level.HARD,
        digest="",
        match=RequestMatch(requests=("CreateTopic", "AlterClientQuota")),
        variables=(CelExpression(name="v", expression=variable),),
        match_conditions=(CelExpression(name="c", expression=expression),),
        validations=(CelValidation(expression=expression, message_expression=expression),),
    )


WORDS = st.sampled_from(
    [
        *("requested", "current", "change", "cluster", "variables.v", "request.api", "principal"),
        *(".configs", ".partitions", ".brokers", "['a']", "[0]", "null", "true", "1", "1.5", "'a'"),
        *("(", ")", "[", "]", "{", "}", ",", ":", "?", "!", "-", "+", "==", "&&", "||", "in", "."),
        *(
            ".all(i, ",
            ".map(i, ",
            "has(",
            "size(",
            "int(",
            "matches(",
            "durationMs('1d')",
            "i",
            " ",
        ),
        *("//", "'", '"', "\\", "r'", "b'", "\n", "\x00", "é", "\ud800", "${", "__keys(", "1u"),
    ]
)
ANYTHING = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=14).map("".join))


@settings(max_examples=examples(600))
@given(ANYTHING, ANYTHING)
def test_any_text_is_a_rule_or_findings(expression: str, variable: str) -> None:
    try:
        rule = load_cel(policy(expression, variable=variable))
    except FindingsError as error:
        lines = [str(finding) for finding in error.findings]
    else:
        lines = [rule.name]
    assert lines
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("expression", ["size()", "durationMs()", "byteSize()", "'a'.matches()"])
def test_a_mistake_that_stands_twice_is_found_once(expression: str) -> None:
    """The second one is no better for having been told of already."""
    with pytest.raises(FindingsError) as caught:
        load_cel(policy(expression))
    sentences = [str(finding) for finding in caught.value.findings]
    assert len(sentences) == len(set(sentences))
    assert sum("is called in another way" in sentence for sentence in sentences) == 1


@pytest.mark.parametrize(
    "opening",
    ["(", "[", "{1:", "!", "-", "size(", "true ? ", "[1].all(x, ", "a.", "a[", "'", '"""', "//"],
)
@pytest.mark.parametrize("times", [60, 2_000, 100_000])
def test_no_text_is_too_deep_to_be_refused(opening: str, times: int) -> None:
    with pytest.raises(FindingsError):
        load_cel(policy(opening * times))


@pytest.mark.parametrize("part", ["true && ", "1 + 1 == 2 || ", "!false && "])
def test_long_chains_are_no_depth(part: str) -> None:
    whole = policy(part * 200 + "true")
    load_cel(replace(whole, validations=(CelValidation(expression=part * 200 + "true"),)))


def test_a_syntax_problem_says_what_to_do() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("a and b")
    assert caught.value.advice == "write &&"


def test_the_library_is_imported_without_its_command_line() -> None:
    """Each policy worker would wait half a second for it."""
    script = "import sys, kgitops.policy.cel.engine; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert {*done.stdout.split()}.isdisjoint({"prompt_toolkit", "pygments", "rich", "typer"})
