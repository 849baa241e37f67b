"""Policies in CEL as a user writes them, and what they say of requests."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

from policy import asking

from kgitops.manifests.policies.policy import Policy
from kgitops.manifests.policies.values import cel_policy
from kgitops.manifests.reading import check
from kgitops.manifests.yaml.document import SourceText
from kgitops.manifests.yaml.parse import parse
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.source import Finding
from kgitops.policy.cel.rule import load_cel
from kgitops.policy.evaluate.bundle import CelPolicy, RequestRulings
from kgitops.policy.evaluate.judge import InProcessEvaluator

TOPICS = ("CreateTopic", "AlterTopic")
creation = partial(asking.creation, assignment=((1, 2, 3), (2, 3, 1), (3, 1, 2)), generated=False)
BROKERS = tuple(Broker(id=number, rack=f"rack-{number}") for number in (1, 2, 3))


def document(spec: str, name: str = "p") -> str:
    """A Policy document; its spec begins on line 5, in column 3."""
    head = f"apiVersion: kgitops/v1\nkind: Policy\nmetadata: {{name: {name}}}\nspec:\n"
    return head + "".join(f"  {line}\n" for line in spec.splitlines())


def quoted(text: str) -> str:
    """The text in double quotes, as YAML reads it."""
    return json.dumps(text, ensure_ascii=False)


def one(
    expression: str,
    *,
    requests: Sequence[str] = ("CreateTopic",),
    variables: Mapping[str, str] | None = None,
    condition: str | None = None,
    message: str | None = None,
    message_expression: str | None = None,
) -> str:
    """A Policy of one validation: its expression is the last but those of the message."""
    lines = [f"match: {{requests: [{', '.join(requests)}]}}"]
    if variables:
        lines.append("variables:")
        for name, text in variables.items():
            lines.append(f"  - {{name: {name}, expression: {quoted(text)}}}")
    if condition is not None:
        lines.append(f"matchConditions: [{{name: c, expression: {quoted(condition)}}}]")
    lines += ["validations:", f"  - expression: {quoted(expression)}"]
    if message is not None:
        lines.append(f"    message: {quoted(message)}")
    if message_expression is not None:
        lines.append(f"    messageExpression: {quoted(message_expression)}")
    return document("\n".join(lines))


def read(text: str, file: str = "p.yaml") -> CelPolicy:
    """The policy of a document.

    Raises:
        FindingsError: the document is none.
    """
    findings: list[Finding] = []
    (parsed,) = parse(SourceText(file, text), findings)
    declared = check("Policy", parsed.content, parsed.document, findings)
    if findings:
        raise FindingsError(findings)
    assert isinstance(declared, Policy)
    return cel_policy(declared, parsed.document)


def findings(text: str) -> list[str]:
    """What is said of a document when it is loaded; nothing where it is fine."""
    try:
        load_cel(read(text))
    except FindingsError as error:
        return [str(finding) for finding in error.findings]
    return []


def topic(
    name: str = "orders",
    configs: Mapping[str, str] | None = None,
    assignment: Assignment = ((1, 2, 3),),
) -> TopicState:
    return TopicState(name=name, topic_id="id", assignment=assignment, configs=configs or {})


def alteration(
    before: TopicState,
    configs: Mapping[str, str] | None = None,
    assignment: Assignment | None = None,
) -> req.AlterTopicRequest:
    after = dict(before.configs if configs is None else configs)
    removed = dict.fromkeys(before.configs.keys() - after.keys())
    return req.AlterTopicRequest(
        topic=before.name,
        topic_id="id",
        step=req.AlterStep.CONFIGS,
        requested_state=RequestedTopicState(
            name=before.name,
            topic_id="id",
            assignment=assignment or before.assignment,
            configs=after,
            requested_configs={**removed, **after},
        ),
    )


def state(*topics: TopicState, brokers: tuple[Broker, ...] = BROKERS) -> ClusterState:
    return ClusterState(
        cluster_id="test",
        backend="embedded",
        brokers=brokers,
        topics={topic.name: topic for topic in topics},
    )


def judged(
    texts: str | Sequence[str],
    request: req.Request,
    cluster: ClusterState | None = None,
    *,
    principal: str = "User:kgitops",
    broker_configs: Mapping[str, str] | None = None,
) -> RequestRulings:
    """What policies say of a request."""
    documents = [texts] if isinstance(texts, str) else texts
    judge = InProcessEvaluator([load_cel(read(text)) for text in documents])
    judge.begin(cluster or state(), principal=principal)
    return judge.judge(request, broker_configs=broker_configs)


def said(
    texts: str | Sequence[str], request: req.Request, cluster: ClusterState | None = None
) -> str:
    """The words that stop a request; nothing where it is accepted."""
    return judged(texts, request, cluster).message or ""
