"""Policies that can't be meant: each is one sentence at its place, and nothing is raised."""

import pytest
from policy.cel.writing import document, findings, one, read

from kgitops.model.errors import FindingsError

FILLER = " && true" * 600
# Name: an expression of a policy for CreateTopic, and what is said of it.
EXPRESSIONS: dict[str, tuple[str, str]] = {
    # No CEL.
    "spaces": ("  ", "the expression is empty; write what must be true"),
    "a comment": ("// requested.partitions", "the expression is empty"),
    "half an expression": ("1 +", "a value is expected, not the end of the expression"),
    "two expressions": ("true true", "an operator is expected, not 'true' at character 6"),
    "a bracket too few": ("(true", "')' is expected, not the end of the expression"),
    "a bracket too many": ("true)", "an operator is expected, not ')' at character 5"),
    "one =": ("requested.partitions = 3", "'=' at character 22 has no meaning in CEL; write =="),
    "one &": ("true & true", "'&' at character 6 has no meaning in CEL; write && for and"),
    "and": ("true and true", "CEL has no 'and' at character 6; write &&"),
    "not": ("not true", "CEL has no 'not' at character 1; write !"),
    "an open quote": ("requested.name == 'a", "close the quotes"),
    "curly quotes": ("requested.name == “a”", 'write straight quotes: "'),
    "an unknown escape": (
        r"requested.name == '\q'",
        "'\\q' at character 20 is not an escape of CEL; write r'…'",
    ),
    "a semicolon": ("true;", "';' at character 5 has no meaning in CEL"),
    "a letter of another script": ("réquested.name == 'a'", "'é' at character 2"),
    "a reserved word": ("for == 1", "'for' at character 1 is a reserved word of CEL"),
    "a number of 30 digits": (f"{'9' * 30} > 1", "a whole number is beyond 64 bits"),
    "has() of a key": ("has(requested.configs['a'])", "write 'KEY' in MAP to ask for a key"),
    "a loop without a name": ("[1].all(1, true)", "all() takes a name and what is asked"),
    "100,000 brackets": ("(" * 100_000, "100000 characters long, more than 4096; split it"),
    "51 brackets": ("(" * 51 + "true" + ")" * 51, "nested more than 50 deep"),
    "51 lists": ("[" * 51 + "]" * 51 + " == []", "nested more than 50 deep"),
    "2,000 signs": ("!" * 2_000 + "true", "nested more than 50 deep"),
    "1,000 fields": ("requested" + ".a" * 1_000, "nested more than 50 deep"),
    "too long": ("true" + FILLER, "the expression is 4804 characters long, more than 4096"),
    "too many loops": (
        "requested.assignments.all(a, requested.assignments.all(b, requested.assignments.all(c, "
        "requested.assignments.all(d, requested.assignments.all(e, true)))))",
        "its loops in loops could take too long",
    ),
    "loops over much": (
        f"[{', '.join(['1'] * 900)}].all(a, [{', '.join(['1'] * 300)}].all(b, a + b > 1 + 2))",
        "its loops in loops could take too long",
    ),
    # Names.
    "an unknown variable": ("requests.api == 'x'", "no variable requests; did you mean request?"),
    "Kubernetes' object": ("object.spec.replicas <= 5", "no variable object; write requested"),
    "Kubernetes' oldObject": ("oldObject == null", "no variable oldObject; write current"),
    "Kubernetes' params": ("params.max > 3", "no variable params; write a literal, or ${var:NAME}"),
    "a variable of the policy": (
        "variables.isr == 1",
        "has no variable isr; define it in spec.var",
    ),
    "variables alone": ("variables == null", "variables stands alone; write variables.NAME"),
    "a function as a variable": ("size == 1", "size is a function; write size(…)"),
    "a misspelt field": (
        "requested.partition <= 10",
        "requested has no field partition; did you mean partitions?",
    ),
    "an unknown field": ("requested.owner == 'a'", "a topic has assignments, configs, effect"),
    "a field of another kind": ("requested.quotas == {}", "requested has no field quotas"),
    "has() of an unknown field": ("has(requested.replicas)", "has no field replicas"),
    "a config with its dots": (
        "requested.configs.retention.ms == '1'",
        "requested.configs.retention is text, which has no field ms; "
        "write requested.configs['retention.ms']",
    ),
    "a config with three dots": (
        "requested.configs.min.insync.replicas == '2'",
        "write requested.configs['min.insync.replicas']",
    ),
    "a field of a number": ("requested.partitions.max > 1", "is an int, which has no field max"),
    "an unknown function": ("isTeam(requested.name)", "there is no function isTeam(); there are"),
    "a misspelt function": (
        "requested.name.startWith('a')",
        "there is no function startWith(); did you mean startsWith?",
    ),
    "another language's function": ("len(requested.name) > 1", "no function len(); use size()"),
    "Kubernetes' quantity": ("quantity('1Gi') > 1", "no function quantity(); byteSize('1GiB')"),
    "the time": ("now() > 1", "policies know no time"),
    "a method as a function": (
        "startsWith(requested.name, 'a')",
        "startsWith() is called in another way; write TEXT.startsWith('…')",
    ),
    "too many arguments": ("size(requested.name, 1) == 1", "size() is called in another way"),
    "a loop's item like a variable": (
        "requested.configs.all(request, request != '')",
        "the item of all() is called request, like a variable; give it another name",
    ),
    # Types.
    "no boolean": ("requested.partitions", "it gives an int where true or false is needed"),
    "text": ("'true'", "it gives text where true or false is needed; compare it with something"),
    "null": ("null", "it gives null where true or false is needed"),
    "a number and text": (
        "requested.replicationFactor == '3'",
        "compares an int with text, which are never equal; convert the number by string(…)",
    ),
    "a config and a number": (
        "requested.configs['retention.ms'] <= 1000",
        "compares text with an int; convert the text by int(…) or double(…)",
    ),
    "a sum of text and a number": (
        "'a' + requested.partitions == 'a3'",
        "mixes text with an int; write string(…) around the number",
    ),
    "a whole number and a fraction": (
        "requested.partitions * 1.5 > 2.0",
        "mixes an int with a double; convert the whole number by double(…)",
    ),
    "a number as a condition": ("requested.partitions && true", "each side of && must be true or"),
    "a number turned round": ("!requested.partitions", "what ! turns round must be true or false"),
    "a wrong type behind true ||": ("true || 1 + 'a' == 2", "mixes an int with text"),
    "text in text": (
        "'a' in requested.name",
        "requested.name is text; write requested.name.contains('a')",
    ),
    "a number among texts": ("3 in ['1', '3']", "so it is never in there; convert the number by"),
    "a key of a number": (
        "requested.configs[1] == 'a'",
        "has no key that is an int; its keys are te",
    ),
    "an item by name": ("requested.assignments['0'] == []", "a list is indexed by a number"),
    "a loop over a number": ("requested.partitions.all(p, p > 0)", "all() goes over a list or a"),
    "a filter that is none": ("[1].filter(x, x) == [1]", "what filter() asks of each item must be"),
    "a conversion of a list": ("int([1]) == 1", "int() takes text or an int or a double, and [1]"),
    "a boolean as text": ("string(true) == 'true'", "write (… ? 'true' : 'false')"),
    "an unsigned number": ("1u == 1u", "1u is an unsigned number; write it without the u"),
    "bytes": ("b'a' == b'a'", "b'a' is bytes; write text, without the b"),
    "a key that is a fraction": ("{1.5: 'a'} == {}", "1.5 can't be a key"),
    # What can never be evaluated.
    "no number": ("int('many') > 1", "int('many') gives no number; write the number itself"),
    "no duration": ("durationMs('7x') > 1", "durationMs(): '7x' is not a duration"),
    "no size": ("byteSize('7 days') > 1", "byteSize(): '7 days' is not a byte size"),
    "a size beyond 64 bits": ("byteSize('9999999999TiB') > 1", "is beyond 64 bits; write less"),
    "no regular expression": (
        "requested.name.matches('(')",
        "'(' is not a regular expression: unclosed group; correct it; the syntax is RE2's",
    ),
    "a lookahead": ("requested.name.matches('(?=a)')", "is not a regular expression: look-around"),
    "an absurd regular expression": (
        "requested.name.matches('((a{1000}){1000}){1000}')",
        "the regular expression '((a{1000}){1000}){1000}' is too big; repeat less",
    ),
    "a division by zero": ("1 / 0 == 1", "it can never be evaluated: it divides by zero"),
    "an item that is not there": ("[1][7] == 1", "it can never be evaluated: the list has no"),
    # Null.
    "the topic before it is there": (
        "current.partitions <= requested.partitions",
        "current is null in a CreateTopic request; match other requests, or ask for null first",
    ),
    "a rack that is not set": (
        "cluster.brokers.all(b, b.rack.startsWith('eu-'))",
        "b.rack may be null in a CreateTopic request; ask b.rack != null first",
    ),
    "a value that was not there": (
        "change.configs.all(k, int(change.configs[k].before) > 1)",
        "change.configs[k].before may be null in a CreateTopic request",
    ),
    "a sum with null": (
        "1 + null == 1",
        "null stands where a value is needed; compare with == null",
    ),
}
POLICIES: dict[str, tuple[str, str, str]] = {
    "a request that has none": (
        one("requested.partitions <= 10", requests=("CreateTopic", "DeleteTopic")),
        "7:19",
        "requested is null in a DeleteTopic request; match other requests, or ask for null first",
    ),
    "every request": (
        document('validations: [{expression: "requested.partitions <= 10"}]'),
        "5:30",
        "requested is null in a DeleteTopic request",
    ),
    "a field of some requests": (
        one("requested.partitions <= 10", requests=("CreateTopic", "CreateAcl")),
        "7:19",
        "requested has no field partitions in a CreateAcl request; "
        "match other requests, or ask for request.api first",
    ),
    "a misspelt field of every request": (
        document('validations: [{expression: "requested.partition <= 10"}]'),
        "5:30",
        "requested has no field partition; did you mean partitions?",
    ),
    "a variable used before it is defined": (
        one("variables.b", variables={"a": "variables.b", "b": "true"}),
        "7:29",
        "the policy has no variable b before this line; define it before its use",
    ),
    "a misspelt variable": (
        one("variables.irs == 2", variables={"isr": "2"}),
        "9:19",
        "the policy has no variable irs; did you mean isr?",
    ),
    "a variable that is no name": (
        one("true", variables={"min-isr": "2"}),
        "7:35",
        "'min-isr' can't be the name of a variable; write letters, digits and _",
    ),
    "two variables of a name": (
        document(
            "variables: [{name: a, expression: '1'}, {name: a, expression: '2'}]\n"
            "validations: [{expression: 'true'}]"
        ),
        "5:65",
        "variables has two of the name a; rename one",
    ),
    "variables that grow": (
        one(
            "variables.v9 == ''",
            variables={
                "v0": " + ".join(["'a'"] * 9),
                **{
                    f"v{n}": f"variables.v{n - 1} + variables.v{n - 1} + variables.v{n - 1}"
                    for n in range(1, 10)
                },
            },
        ),
        "12:30",
        "has 2914 parts, more than 2000",
    ),
    "variables that nest": (
        one(
            f"{'[' * 30}variables.a{']' * 30} == []",
            variables={"a": f"{'[' * 30}{']' * 30}"},
        ),
        "9:19",
        "the expression is nested more than 50 deep",
    ),
    "has() of a variable": (
        one("has(variables.a)", variables={"a": "requested.name"}),
        "9:19",
        "has() asks for a field, not for a variable of the policy",
    ),
    "a wrong variable is said once": (
        one("variables.a > 1 && variables.a < 9", variables={"a": "requested.partition"}),
        "7:29",
        "requested has no field partition; did you mean partitions?",
    ),
    "a condition that is none": (
        one("true", condition="requested.name"),
        "6:43",
        "it gives text where true or false is needed",
    ),
    "a message that is no text": (
        one("true", message_expression="requested.partitions"),
        "8:26",
        "it gives an int where text is needed; write string(…) around it",
    ),
    "a message of a number and text": (
        one("true", message_expression="'it has ' + requested.partitions"),
        "8:26",
        "mixes text with an int; write string(…) around the number",
    ),
    "too many expressions": (
        document("validations:" + "\n  - {expression: 'true'}" * 101),
        "3:18",
        "it has 101 expressions, more than 100; split it",
    ),
    "text that may be no boolean": (
        one("[1, true][0]"),
        "7:19",
        "it gives int where true or false is needed in a CreateTopic request",
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_that_cannot_be_meant_is_a_finding(name: str) -> None:
    expression, sentence = EXPRESSIONS[name]
    (said,) = findings(one(expression))
    print(f"{name}: {said}")
    assert said.startswith("p.yaml:7:19: policy p: ")
    assert sentence in said
    assert said.count("; ") >= 1
    assert len(said) < 400


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_that_cannot_be_meant_is_a_finding(name: str) -> None:
    text, place, sentence = POLICIES[name]
    (said,) = findings(text)
    print(f"{name}: {said}")
    assert said.startswith(f"p.yaml:{place}: policy p: ")
    assert sentence in said


def test_a_condition_about_the_request_spares_the_others() -> None:
    """What only names decide may be true of other requests, so it spares none."""
    both = ("CreateTopic", "DeleteTopic")
    wrong = "requested.partitions <= 10"
    assert findings(one(wrong, requests=both, condition="request.api == 'CreateTopic'")) == []
    (said,) = findings(one(wrong, requests=both, condition="request.name == 'of no sample'"))
    assert "requested is null in a DeleteTopic request" in said


def test_all_findings_are_collected_each_at_its_place() -> None:
    text = document(
        "match: {requests: [CreateTopic]}\n"
        "matchConditions:\n"
        "  - {name: c, expression: requested.nam == 'a'}\n"
        "variables:\n"
        "  - {name: v, expression: 1 +}\n"
        "validations:\n"
        "  - expression: requested.partitions\n"
        "  - expression: >-\n"
        "      requested.name\n"
        "      == 3\n"
        "    messageExpression: lower(requested.name)\n"
    )
    places = [said.partition(": ")[0] for said in findings(text)]
    assert places == ["p.yaml:7:29", "p.yaml:9:29", "p.yaml:11:19", "p.yaml:12:19", "p.yaml:15:26"]


def test_a_broken_document_is_no_policy() -> None:
    with pytest.raises(FindingsError, match=r"spec.validations must not be empty"):
        read(document("validations: []"))
