"""A policy in CEL as a rule, tried on samples first: what fails there would fail on real ones."""

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as Snapshot
from kgitops.model.errors import FindingsError
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.config_resources import (
    ALL_BROKERS,
    JUDGED_RESOURCES,
    ConfigResourceType,
)
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    IP,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
)
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.users import ScramMechanism, found_users
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
    VirtualCluster,
)
from kgitops.model.source import Finding
from kgitops.policy.api.interfaces import ClusterState, RuleViolation
from kgitops.policy.api.requests import Principal
from kgitops.policy.building import acl, link_request, requested_topic, state_of, virtual_cluster
from kgitops.policy.cel.compiler import (
    CompiledExpression,
    CompiledPolicy,
    CompiledValidation,
    compile_policy,
    policy_finding,
)
from kgitops.policy.cel.engine import EvaluationError, evaluate
from kgitops.policy.cel.evaluation_context import EvaluationContexts, reads_object
from kgitops.policy.cel.functions import BOOL, STRING
from kgitops.policy.cel.parser import Name, walk
from kgitops.policy.cel.problems import Problem
from kgitops.policy.cel.variables import ROOTS
from kgitops.policy.evaluate.bundle import CelPolicy
from kgitops.policy.evaluate.policy_input import PolicyInput, build_input
from kgitops.policy.evaluate.protocol import PolicyFailed
from kgitops.policy.state import SimulatedState


def _run_samples(policy: CelPolicy, compiled: CompiledPolicy) -> Iterator[Finding]:
    """Make a finding of each expression that can't be evaluated on a request that it judges."""
    contexts = EvaluationContexts()
    contexts.add(compiled.references)
    reported: set[CompiledExpression] = set()
    for api in compiled.apis:
        for sample in samples(api, compiled.literals):
            context = contexts.of(sample.policy_input, sample.cluster)
            for expression, wrong in _tried(compiled, context, api):
                if expression not in reported:
                    reported.add(expression)
                    yield policy_finding(policy, expression.source, *wrong)


def _tried(
    compiled: CompiledPolicy, context: object, api: str
) -> Iterator[tuple[CompiledExpression, tuple[str, str]]]:
    judged = True
    for condition in compiled.conditions:
        answer, wrong = _try(condition, context, api)
        if wrong is not None:
            yield condition, wrong
        # What only names decide may be true of other requests of this kind.
        if answer is not True and reads_object(condition.root):
            judged = False
    if not judged:
        return
    for validation in compiled.validations:
        answer, wrong = _try(validation.expression, context, api)
        if wrong is not None:
            yield validation.expression, wrong
        if validation.message_expression is not None and answer is not True:
            _, wrong = _try(validation.message_expression, context, api)
            if wrong is not None:
                yield validation.message_expression, wrong


def _try(
    expression: CompiledExpression, context: object, api: str
) -> tuple[object, tuple[str, str] | None]:
    try:
        answer = evaluate(expression.program, context)
    except EvaluationError as error:
        return None, _why(expression, error, api)
    if isinstance(answer, bool if expression.expected is BOOL else str):
        return answer, None
    needed = "text" if expression.expected is STRING else "true or false"
    problem = f"it gives {type(answer).__name__} where {needed} is needed {_in(api)}"
    return answer, (problem, "correct the expression")


def _why(
    expression: CompiledExpression, error: EvaluationError, api: str
) -> tuple[str, str] | None:
    """The problem of an expression for this kind of request; a missing key is fine."""
    problems = expression.problems[api]
    strong = [problem for problem in problems if not problem.weak]
    if strong:
        return f"{strong[0].text} {_in(api)}", "match other requests, or ask for request.api first"
    if error.kind_error:
        if problems:
            return _in_request(problems[0], api)
        return f"{error.text} {_in(api)}", "correct the expression"
    if any(isinstance(node, Name) and node.name in ROOTS for node in walk(expression.root)):
        return None
    return f"it can never be evaluated: {error.text}", "correct the expression"


def _in_request(problem: Problem, api: str) -> tuple[str, str]:
    return f"{problem.text} {_in(api)}", problem.advice


def _in(api: str) -> str:
    return f"in {'an' if api[0] in 'AEIOU' else 'a'} {api} request"


MAX_MESSAGE = 2_000
_MAX_SHOWN = 120


def load_cel(policy: CelPolicy, contexts: EvaluationContexts | None = None) -> "CelRule":
    """Load the policy.

    Policies that judge the same requests share ``contexts``, which saves most of the work.

    Raises:
        FindingsError: an expression is wrong; every finding, at its place.
    """
    compiled = compile_policy(policy)
    findings = tuple(_run_samples(policy, compiled))
    if findings:
        raise FindingsError(findings)
    return CelRule(policy, compiled, EvaluationContexts() if contexts is None else contexts)


class CelRule:
    """Implements ``Rule`` for a ``kind: Policy`` document."""

    def __init__(
        self, policy: CelPolicy, compiled: CompiledPolicy, contexts: EvaluationContexts
    ) -> None:
        self.name = policy.name
        self.level = policy.level
        self._requests = frozenset(policy.match.requests)
        self._names = _patterns(policy.match.names)
        self._conditions = compiled.conditions
        self._validations = compiled.validations
        self._contexts = contexts
        contexts.add(compiled.references)

    def judges(self, policy_input: PolicyInput) -> bool:
        """True if the request and the object's name match; conditions are part of the check."""
        return (not self._requests or policy_input.api in self._requests) and (
            self._names is None or self._names.fullmatch(policy_input.name) is not None
        )

    def check(self, policy_input: PolicyInput, cluster: ClusterState) -> Sequence[RuleViolation]:
        """Make a violation of each validation that is false.

        Raises:
            PolicyFailed: an expression can't be evaluated; the sentence says which and why.
        """
        context = self._contexts.of(policy_input, cluster)
        if not _meet(self._conditions, context):
            return ()
        return [
            RuleViolation(
                message=_message(validation, context), field=validation.field, rule=number
            )
            for number, validation in enumerate(self._validations)
            if not _holds(validation.expression, context)
        ]

    def close(self) -> None:
        """Let go of the cluster."""
        self._contexts.release()


def _patterns(names: Sequence[str]) -> re.Pattern[str] | None:
    """Patterns of names with * and ?; [ is an ordinary character. No pattern can take long."""
    if not names:
        return None
    return re.compile("|".join(fnmatch.translate(name.replace("[", "[[]")) for name in names))


def _meet(conditions: Sequence[CompiledExpression], context: object) -> bool:
    """True if all are true; one that is false decides, even where another can't be evaluated."""
    failed: PolicyFailed | None = None
    for condition in conditions:
        try:
            if not _holds(condition, context):
                return False
        except PolicyFailed as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return True


def _holds(expression: CompiledExpression, context: object) -> bool:
    try:
        answer = evaluate(expression.program, context)
    except EvaluationError as error:
        raise PolicyFailed(f"{_shown(expression.text)} can't be evaluated: {error.text}") from error
    if not isinstance(answer, bool):
        raise PolicyFailed(
            f"{_shown(expression.text)} gives {answer!r:.40} where true or false is needed"
        )
    return answer


def _message(validation: CompiledValidation, context: object) -> str:
    return (
        _computed(validation.message_expression, context)
        or _line(validation.message or "")
        or f"this must be true: {_shown(validation.expression.text)}"
    )


def _computed(expression: CompiledExpression | None, context: object) -> str:
    """The value of the message's expression; empty if it gives no text, as in Kubernetes."""
    if expression is None:
        return ""
    try:
        answer = evaluate(expression.program, context)
    except EvaluationError:
        return ""
    return _line(answer) if isinstance(answer, str) else ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE - 1]}…"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"


_NAME, _ID = "sample", "AAAAAAAAAAAAAAAAAAAAAA"
_KEYS = ("retention.ms", "cleanup.policy")
_CLUSTER = virtual_cluster(
    "sample.vc",
    users=["sample"],
    client_ids=["sample"],
    groups=["sample"],
    transactional_ids=["sample"],
    links={_NAME: _NAME},
)
_QUOTA_KEYS = ("producer_byte_rate", "consumer_byte_rate")


class Sample(Struct, frozen=True):
    """A request, and the cluster that it is for."""

    policy_input: PolicyInput
    cluster: ClusterState


def samples(api: str, literals: Iterable[str]) -> Iterator[Sample]:
    """Make requests of one kind, with and without everything that may be missing.

    ``literals`` are the texts in the policy: each may be a key, so that every map has them.
    """
    labels = dict.fromkeys(literals, "1")
    for index, sample in enumerate(_unlabelled(api, literals)):
        request = sample.policy_input.request
        given = {} if index % 2 else labels
        yield replace(
            sample,
            policy_input=replace(sample.policy_input, request=replace(request, labels=given)),
        )


def _unlabelled(api: str, literals: Iterable[str]) -> Iterator[Sample]:
    keys = tuple(dict.fromkeys((*_KEYS, *literals)))
    quota_keys = tuple(dict.fromkeys((*_QUOTA_KEYS, *literals)))
    match api:
        case "CreateTopic" | "AlterTopic" | "DeleteTopic" | "DeleteRecords":
            yield from _topics(api, keys)
        case "CreateAcl" | "DeleteAcl":
            yield from _acls(api)
        case "AlterClientQuota":
            yield from _quotas(quota_keys)
        case "AlterBroker":
            yield from _brokers(keys)
        case "AlterUserScramCredentials":
            yield from _users()
        case "AlterConfigResource":
            yield from _config_resources(keys)
        case "AlterConsumerGroupOffsets" | "DeleteConsumerGroup":
            yield from _groups(api)
        case "CreateVirtualCluster" | "AlterVirtualCluster" | "DeleteVirtualCluster":
            yield from _virtual_clusters(api)
        case _:
            yield from _links(api)


def _sample(
    request: req.Request,
    snapshot: Snapshot,
    broker_configs: Mapping[str, str] | None = None,
) -> Sample:
    simulated = SimulatedState(snapshot)
    policy_input = build_input(request, Principal("User", "sample"), simulated, broker_configs)
    return Sample(policy_input, ClusterState(simulated, broker_configs))


def _snapshot(
    topics: Iterable[TopicState] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    virtual_clusters: Iterable[VirtualCluster] = (),
    *,
    racks: bool = True,
) -> Snapshot:
    brokers = [Broker(id=id_, rack=f"rack{id_}" if racks else None) for id_ in (1, 2, 3)]
    return state_of(topics, brokers=brokers, quotas=quotas, virtual_clusters=virtual_clusters)


def _topics(api: str, keys: tuple[str, ...]) -> Iterator[Sample]:
    ones, twos = dict.fromkeys(keys, "1"), dict.fromkeys(keys, "2")
    for before, after, racks in ((ones, twos, True), ({}, ones, False), (ones, {}, True)):
        held = TopicState(
            name=_NAME,
            topic_id=None if api == "CreateTopic" else _ID,
            assignment=((1, 2, 3),),
            configs=before,
        )
        assignment = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
        requested = requested_topic(held, {**dict.fromkeys(before), **after}, assignment)
        local = LocalName(_CLUSTER.name, _NAME) if racks else None
        linked = [_CLUSTER] if racks else []
        known = [] if api == "CreateTopic" else [held]
        snapshot = _snapshot(known, virtual_clusters=linked, racks=racks)
        yield _sample(_topic_request(api, requested, local), snapshot)


def _topic_request(
    api: str, requested: RequestedTopicState, local: LocalName | None
) -> req.Request:
    match api:
        case "CreateTopic":
            return req.CreateTopicRequest(topic=_NAME, requested_state=requested, local=local)
        case "AlterTopic":
            return req.AlterTopicRequest(
                topic=_NAME,
                topic_id=_ID,
                step=req.AlterStep.CONFIGS,
                requested_state=requested,
                local=local,
            )
        case "DeleteTopic":
            return req.DeleteTopicRequest(topic=_NAME, topic_id=_ID, local=local)
        case _:
            return req.DeleteRecordsRequest(
                topic=_NAME, topic_id=_ID, deleted_message_offsets={0: 5}, local=local
            )


def _acls(api: str) -> Iterator[Sample]:
    for scope, racks in ((CLUSTER_NAME, True), ("sample", False)):
        binding = acl("User:sample", name=_NAME, virtual_cluster=scope)
        created = req.CreateAclRequest(binding=binding)
        deleted = req.DeleteAclRequest(binding=binding)
        yield _sample(created if api == "CreateAcl" else deleted, _snapshot(racks=racks))


def _quotas(keys: tuple[str, ...]) -> Iterator[Sample]:
    ones, twos = dict.fromkeys(keys, 1.0), dict.fromkeys(keys, 2.0)
    entities = (
        make_entity({USER: "sample", CLIENT_ID: None}),
        make_entity({IP: "192.0.2.1"}),
        make_entity({VIRTUAL_CLUSTER: "sample", USER: "sample"}),
    )
    gone: dict[str, float | None] = dict.fromkeys(keys)
    for entity in entities:
        for before, named in ((ones, {**twos}), ({}, {**ones}), (ones, gone)):
            held = {entity: before} if before else {}
            request = req.AlterClientQuotaRequest(entity=entity, quotas=named)
            yield _sample(request, _snapshot(quotas=held, racks=bool(before)))


def _brokers(keys: tuple[str, ...]) -> Iterator[Sample]:
    ones = dict.fromkeys(keys, "1")
    twos: dict[str, str | None] = dict.fromkeys(keys, "2")
    gone: dict[str, str | None] = dict.fromkeys(keys)
    for before, named, racks in ((ones, twos, True), ({}, twos, False), (ones, gone, True)):
        request = req.AlterBrokerRequest(broker=1, configs=named)
        of_all = req.AlterConfigResourceRequest(
            resource_type=ConfigResourceType.BROKER, resource_name=ALL_BROKERS, configs=named
        )
        for each in (request, of_all):
            yield _sample(each, _snapshot(racks=racks), before)


def _users() -> Iterator[Sample]:
    weak, strong = ScramMechanism
    both = {weak: 4096, strong: 8192}
    for held, mechanism, iterations, members in (
        ({}, strong, 8192, []),
        (both, strong, 16384, [_CLUSTER]),
        (both, weak, 8192, []),
        (both, weak, None, [_CLUSTER]),
    ):
        request = req.AlterUserScramCredentialsRequest(
            user="sample", mechanism=mechanism, iterations=iterations
        )
        snapshot = _snapshot(virtual_clusters=members, racks=bool(members))
        yield _sample(request, snapshot.with_objects(found_users({"sample": held}), Kind.USER))


def _config_resources(keys: tuple[str, ...]) -> Iterator[Sample]:
    ones: dict[str, str | None] = dict.fromkeys(keys, "1")
    gone: dict[str, str | None] = dict.fromkeys(keys)
    for kind in JUDGED_RESOURCES:
        for named, racks in ((ones, True), (gone, False)):
            request = req.AlterConfigResourceRequest(
                resource_type=kind, resource_name=_NAME, configs=named
            )
            yield _sample(request, _snapshot(racks=racks))


def _groups(api: str) -> Iterator[Sample]:
    offsets = TopicOffsets(topic=_NAME, topic_id=_ID, offsets={0: 5})
    for topics, racks in (((offsets,), True), ((), False)):
        altered = req.AlterConsumerGroupOffsetsRequest(group=_NAME, topics=topics)
        deleted = req.DeleteConsumerGroupRequest(group=_NAME)
        yield _sample(deleted if api == "DeleteConsumerGroup" else altered, _snapshot(racks=racks))


def _virtual_clusters(api: str) -> Iterator[Sample]:
    name = _CLUSTER.name
    match api:
        case "CreateVirtualCluster":
            for racks in (True, False):
                created = req.CreateVirtualClusterRequest(virtual_cluster=name)
                yield _sample(created, _snapshot(racks=racks))
        case "DeleteVirtualCluster":
            for one in (_CLUSTER, VirtualCluster(name=name)):
                request = req.DeleteVirtualClusterRequest(virtual_cluster=name)
                yield _sample(request, _snapshot(virtual_clusters=[one]))
        case _:
            other = VirtualCluster(name="other.vc")
            for alteration in _alterations(name):
                yield _sample(alteration, _snapshot(virtual_clusters=[_CLUSTER, other]))


def _alterations(name: str) -> Iterator[req.Request]:
    for entity_type in (
        EntityType.USER,
        EntityType.CLIENT_ID,
        EntityType.GROUP,
        EntityType.TRANSACTIONAL_ID,
    ):
        for change in ChangeType:
            yield req.AlterVirtualClusterRequest(
                virtual_cluster=name, change=change, entity_type=entity_type, entity_name="new"
            )
    yield req.AlterVirtualClusterRequest(
        virtual_cluster=name,
        entity_type=EntityType.USER,
        entity_name="User:moved",
        moved_from="other.vc",
    )
    yield req.AlterVirtualClusterRequest(
        virtual_cluster=name, entity_type=EntityType.GROUP, entity_name="adopter", adopts="old"
    )
    yield req.AlterVirtualClusterRequest(virtual_cluster=name, options=LoweringOptions())
    yield req.CopyGroupOffsetsRequest(virtual_cluster=name, group="sample", source="old")
    yield req.DeleteGroupRequest(virtual_cluster=name, group="sample")


def _links(api: str) -> Iterator[Sample]:
    topic = TopicState(name=_NAME, topic_id=_ID, assignment=((1, 2, 3),))
    sharer = replace(_CLUSTER, name="other.vc")
    creates = api == "CreateTopicLink"
    for known, replaces in (([_CLUSTER], None), ([_CLUSTER, sharer], "other")):
        request = link_request(
            _CLUSTER.name,
            _NAME,
            _NAME,
            change=ChangeType.ADD if creates else ChangeType.REMOVE,
            replaces=replaces if creates else None,
        )
        yield _sample(request, _snapshot([topic], virtual_clusters=known))
