"""The lowering report: a line for each deviation on a Kafka without virtual clusters."""

from collections import Counter

import pytest
from lowering import scenario
from lowering.scenario import ANALYTICS, LITERAL, PREFIXED, READ, SALES, T, acl, quota
from msgspec.structs import replace

from kgitops.lowering.acls.compile import lower_binding
from kgitops.lowering.report import failing_lines, lowering_report, native_report
from kgitops.lowering.report_lines import _CODES
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Grade, Lowered, LoweredAcl, LoweredQuota, LoweringLine
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.acls import (
    OPERATIONS,
    AclBinding,
    Operation,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)

G, X, C = ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER
# Whatever is declared, of a Kafka whose brokers are configured as they should be.
ALWAYS = {"L-NATIVE", "L-LIST", "L-DYNAMIC", "L-STREAMS", "L-GOAL", "L-CREATE", "L-TRANSPARENCY"}
SAFE = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false",
    "super.users": "User:kafka;User:root",
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "false",
}
EMPTY = VirtualCluster(name="v")
PAIR = {"n": TopicLink(name="n", topic="t"), "m": TopicLink(name="m", topic="t")}


def state(
    found: VirtualCluster = EMPTY,
    *acls: AclBinding,
    quotas: tuple[AlterClientQuotaRequest, ...] = (),
    settings: dict[str, str] | None = None,
    has_authorizer: bool = True,
) -> ClusterState:
    return ClusterState(
        cluster_id="c",
        backend="kafka",
        acls=frozenset(acls),
        virtual_clusters={found.name: found},
        quotas={
            request.entity: ClientQuotaState(entity=request.entity, quotas=request.quotas)
            for request in quotas
        },
        settings=SAFE | (settings or {}),
        has_authorizer=has_authorizer,
    )


def v(
    operation: Operation, kind: ResourceType, name: str, principal: str = "User:u", **more: object
) -> AclBinding:
    return acl("v", principal, operation, kind, name, **more)


BOUND = VirtualCluster(name="v", users=frozenset({"User:u"}))
DENY_ONE = (
    v(READ, T, "n"),
    v(READ, T, "m", permission=PermissionType.DENY),
)
CONFLICTING = replace(BOUND, links=PAIR)
LEFT_OVER = LoweredAcl(
    binding=acl("kafka-cluster", "User:u", READ, T, "t"), virtual_cluster="v", sources=()
)
KEY = "producer_byte_rate"
LEFT_LIMIT = LoweredQuota(
    entity=(("user", "u"),), key=KEY, virtual_cluster="v", value=1.0, found=1.0
)
LOCAL = LocalName("v", "n")
AS_MADE = TopicState(name="u.n", topic_id="i", assignment={0: (1,)}, configs={})

# Each kind and field of a document, and what is said of it beside what is said of any.
FEATURES: list[tuple[str, ClusterState, set[str]]] = [
    ("VirtualCluster", state(), set()),
    ("members.users", state(BOUND), {"L-GROUP"}),
    ("members.clientIds", state(replace(EMPTY, client_ids=frozenset("c"))), {"L-CLIENTID"}),
    ("members.groups", state(replace(EMPTY, groups={"g": None})), {"L-GROUP"}),
    (
        "members.transactionalIds",
        state(replace(EMPTY, transactional_ids=frozenset("x"))),
        {"L-TXN", "L-TXN-CHECK"},
    ),
    ("TopicLink", state(replace(EMPTY, links=PAIR)), set()),
    (
        "TopicLink where topics can be deleted",
        state(replace(EMPTY, links=PAIR), settings={"delete.topic.enable": "true"}),
        {"L-LINK-GUARD"},
    ),
    (
        "Topic in a virtual cluster",
        state(
            replace(
                EMPTY,
                links={"n": TopicLink(name="n", topic="00000000-0000-4000-8000-000000000001.n")},
            )
        ),
        {"L-TOPICID"},
    ),
    ("Acl topic literal", state(EMPTY, v(READ, T, "n")), set()),
    ("Acl topic prefixed", state(EMPTY, v(READ, T, "n", pattern=PREFIXED)), {"L-ACL-SNAPSHOT"}),
    ("Acl topic *", state(EMPTY, v(READ, T, "*")), {"L-ACL-SNAPSHOT"}),
    ("Acl group literal", state(EMPTY, v(READ, G, "g")), {"L-GROUP"}),
    ("Acl group prefixed", state(EMPTY, v(READ, G, "g", pattern=PREFIXED)), {"L-GROUP"}),
    ("Acl group *", state(EMPTY, v(READ, G, "*")), {"L-GROUP"}),
    ("Acl group All", state(EMPTY, v(Operation.ALL, G, "g")), {"L-GROUP", "L-ACL-OPERATION"}),
    (
        "Acl group AlterConfigs",
        state(EMPTY, v(Operation.ALTER_CONFIGS, G, "g")),
        {"L-GROUP", "L-ACL-OPERATION"},
    ),
    ("Acl transactionalId", state(EMPTY, v(Operation.WRITE, X, "x")), {"L-TXN"}),
    (
        "Acl transactionalId TwoPhaseCommit",
        state(EMPTY, v(Operation.TWO_PHASE_COMMIT, X, "x")),
        {"L-TXN", "L-ACL-OPERATION"},
    ),
    ("Acl Create", state(EMPTY, v(Operation.CREATE, T, "n")), {"L-ACL-CREATE"}),
    ("Acl Delete", state(EMPTY, v(Operation.DELETE, T, "n")), {"L-ACL-DELETE"}),
    ("Acl All", state(EMPTY, v(Operation.ALL, T, "n")), {"L-ACL-CREATE", "L-ACL-DELETE"}),
    ("Acl User:*", state(EMPTY, v(READ, T, "n", "User:*")), {"L-ACL-SNAPSHOT"}),
    (
        "Acl virtualClusterPatternType",
        state(EMPTY, v(READ, T, "n", scope=PREFIXED)),
        {"L-ACL-SNAPSHOT"},
    ),
    (
        "Acl virtualCluster *",
        state(EMPTY, acl("*", "User:u", READ, T, "n")),
        {"L-ACL-SNAPSHOT"},
    ),
    (
        "Acl cluster",
        state(EMPTY, acl("kafka-cluster", "User:u", Operation.ALTER_VIRTUAL_CLUSTER, C, "v")),
        {"L-ACL-CLUSTER"},
    ),
    (
        "Acl cluster Create",
        state(EMPTY, acl("kafka-cluster", "User:u", Operation.CREATE, C, "v")),
        {"L-ACL-CLUSTER", "L-ACL-CREATE"},
    ),
    (
        "Acl user",
        state(EMPTY, v(Operation.CREATE_TOKENS, ResourceType.USER, "User:u")),
        {"L-ACL-TOKEN"},
    ),
    (
        "Acl delegationToken",
        state(EMPTY, v(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, "t")),
        {"L-ACL-TOKEN"},
    ),
    ("Acl Deny beside Allow", state(CONFLICTING, *DENY_ONE), {"L-GROUP", "L-ACL-CONFLICT"}),
    (
        "lowering.denyWins",
        state(replace(CONFLICTING, options=LoweringOptions(deny_wins=True)), *DENY_ONE),
        {"L-GROUP", "L-ACL-CONFLICT"},
    ),
    ("ClientQuota user", state(EMPTY, quotas=(quota(1, KEY, vc="v", user="u"),)), {"L-QUOTA-API"}),
    (
        "ClientQuota user, clientId",
        state(EMPTY, quotas=(quota(1, KEY, vc="v", user="u", client="c"),)),
        {"L-QUOTA-API"},
    ),
    (
        "ClientQuota default user",
        state(EMPTY, quotas=(quota(1, KEY, vc="v", user=None),)),
        {"L-QUOTA-API", "L-QUOTA-EXPAND"},
    ),
    (
        "ClientQuota clientId",
        state(EMPTY, quotas=(quota(1, KEY, vc="v", client="c"),)),
        {"L-QUOTA-API", "L-QUOTA-CLIENT"},
    ),
    (
        "ClientQuota cap",
        state(EMPTY, quotas=(quota(1, KEY, vc="v"),)),
        {"L-QUOTA-API", "L-QUOTA-CAP"},
    ),
    (
        "ClientQuota over a global one",
        state(BOUND, quotas=(quota(1, KEY, vc="v", user="u"), quota(2, KEY, user="u"))),
        {"L-GROUP", "L-QUOTA-API", "L-QUOTA-SHADOW"},
    ),
    ("global ClientQuota", state(BOUND, quotas=(quota(2, KEY, user="u"),)), {"L-GROUP"}),
    (
        "an ACL of others",
        state(CONFLICTING, acl("kafka-cluster", "User:*", READ, T, "*")),
        {"L-GROUP", "L-ISOLATION"},
    ),
    (
        "a member's own global ACL",
        state(CONFLICTING, acl("kafka-cluster", "User:u", READ, T, "t")),
        {"L-GROUP", "L-BYPASS"},
    ),
    (
        "a member's own global ACL that the virtual cluster grants as well",
        replace(
            state(CONFLICTING, LEFT_OVER.binding, v(READ, T, "n")),
            lowered=Lowered(
                acls={LEFT_OVER.binding: replace(LEFT_OVER, sources=("a",), adopted=True)}
            ),
        ),
        {"L-GROUP"},
    ),
    ("no authorizer", state(has_authorizer=False), {"L-NO-AUTHORIZER"}),
    (
        "no authorizer class",
        state(settings={"authorizer.class.name": ""}),
        {"L-NO-AUTHORIZER"},
    ),
    (
        "allow everyone",
        state(settings={"allow.everyone.if.no.acl.found": "true"}),
        {"L-ALLOW-EVERYONE"},
    ),
    (
        "auto-create",
        state(settings={"auto.create.topics.enable": "true"}),
        {"L-AUTO-CREATE"},
    ),
    (
        "a super user bound",
        state(BOUND, settings={"super.users": "User:root;User:u"}),
        {"L-GROUP", "L-SUPER-USER"},
    ),
    (
        "settings hidden",
        state(settings={"allow.everyone.if.no.acl.found": "", "super.users": ""}),
        {"L-HIDDEN"},
    ),
    ("settings unread", replace(state(), settings={}), {"L-PREFLIGHT"}),
    (
        "an interrupted apply",
        replace(state(), lowered=Lowered(acls={LEFT_OVER.binding: LEFT_OVER})),
        {"L-LEFTOVER"},
    ),
    (
        "an interrupted quota",
        replace(state(), lowered=Lowered(quotas={(LEFT_LIMIT.entity, KEY): LEFT_LIMIT})),
        {"L-LEFTOVER"},
    ),
    (
        "a quota that only waits to be struck out",
        replace(
            state(),
            lowered=Lowered(quotas={(LEFT_LIMIT.entity, KEY): replace(LEFT_LIMIT, found=None)}),
        ),
        set(),
    ),
    (
        "an interrupted topic",
        replace(state(), topics={"u.n": AS_MADE}, lowered=Lowered(pending={LOCAL: "u.n"})),
        {"L-PENDING"},
    ),
    (
        "a topic that was not made yet",
        replace(state(), lowered=Lowered(pending={LOCAL: "u.n"})),
        set(),
    ),
]


@pytest.mark.parametrize(
    ("found", "expected"), [row[1:] for row in FEATURES], ids=[row[0] for row in FEATURES]
)
def test_each_feature_has_exactly_its_lines(found: ClusterState, expected: set[str]) -> None:
    """VC-390, VC-391, VC-166, VC-171, VC-172, VC-173, VC-176, VC-223, VC-092, VC-149: what is not
    exact is said, and what is not said is exact."""
    lines = lowering_report(found)
    assert {line.code for line in lines} == ALWAYS | expected
    assert all(line.reason for line in lines)
    assert all(line.remedy for line in lines if line.code != "L-GOAL")


@pytest.mark.parametrize("kind", ResourceType)
def test_no_operation_is_lost_without_a_line(kind: ResourceType) -> None:
    """VC-390: each that Kafka knows of the resource stands on brokers, or there is a line for it,
    and a line only then; of All a line for what is missing."""
    own = "v" if kind is not C else "kafka-cluster"
    for operation in (*OPERATIONS[kind], Operation.ALL):
        binding = acl(own, "User:u", operation, kind, "v")
        found = {line.code for line in lowering_report(state(EMPTY, binding))} - ALWAYS
        found -= {"L-GROUP", "L-TXN"}  # of the names, not of the rights
        links = {"v": TopicLink(name="v", topic="t")}
        standing = {made.operation for made in lower_binding(binding, "v", links, ["User:u"])}
        wanted = OPERATIONS[kind] if operation is Operation.ALL else {operation}
        assert bool(found) == (standing != wanted), (kind, operation, found)


def test_every_code_is_met() -> None:
    """VC-390: the table above leaves out no code but those of a gateway, which are tried with
    one."""
    met = ALWAYS | {code for _, _, codes in FEATURES for code in codes} | {"L-DATAPLANE"}
    assert met == {code for code in _CODES if not code.startswith("L-GATEWAY")}


def test_the_report_of_the_worked_scenario() -> None:
    """VC-175, VC-221, VC-390: §24.5's lines and how many of each."""
    brokers = scenario.after_commit_1()
    found = replace(brokers.logical, settings=SAFE | {"delete.topic.enable": "true"})
    lines = lowering_report(found)
    counted = Counter(line.code for line in lines)
    expected = {
        "L-NATIVE": 1, "L-TRANSPARENCY": 2, "L-GROUP": 2, "L-TXN": 1, "L-ACL-CLUSTER": 1,
        "L-QUOTA-API": 1, "L-QUOTA-EXPAND": 1, "L-QUOTA-CAP": 2, "L-QUOTA-SHADOW": 1,
        "L-TOPICID": 2, "L-LINK-GUARD": 3, "L-CREATE": 2, "L-GOAL": 6,
    }  # fmt: skip
    assert {code: counted[code] for code in expected} == expected
    (bypass,) = (line for line in lines if line.code == "L-BYPASS")
    assert (bypass.virtual_cluster, bypass.subject) == (SALES, "User:sales-app")
    for old in ("Read", "Write"):
        assert f"Allow/{old}/topic/prefixed/emea.eu.sales.@*" in bypass.reason  # G1, G2 (VC-175)
    caps = {line.virtual_cluster: line.reason for line in lines if line.code == "L-QUOTA-CAP"}
    assert "consumer_byte_rate 52428800 times 1 = 52428800" in caps[""]
    assert "producer_byte_rate 20971520 times 1 = 20971520" in caps[SALES]
    (shadow,) = (line for line in lines if line.code == "L-QUOTA-SHADOW")
    assert (shadow.subject, shadow.grade) == ("quota/user=sales-app", Grade.EXACT)
    assert "5242880" in shadow.reason
    (txn,) = (line for line in lines if line.code == "L-TXN")
    assert txn.virtual_cluster == SALES
    (expanded,) = (line for line in lines if line.code == "L-QUOTA-EXPAND")
    assert expanded.virtual_cluster == ANALYTICS


@pytest.mark.parametrize(
    ("mode", "grade", "words"),
    [
        (CapLowering.CLAMP, Grade.APPROX, "times 2 = 20"),
        (CapLowering.DIVIDE, Grade.APPROX, "times 1 = 10"),
        (CapLowering.NONE, Grade.NONE, "not lowered"),
    ],
)
def test_a_cap_says_what_it_is_worth(mode: CapLowering, grade: Grade, words: str) -> None:
    """VC-221: the worst case of all members together, by the way that the cap is lowered."""
    found = VirtualCluster(
        name="v",
        users=frozenset({"User:u", "User:w"}),
        options=LoweringOptions(cap_lowering=mode),
    )
    (line,) = (
        line
        for line in lowering_report(state(found, quotas=(quota(10, KEY, vc="v"),)))
        if line.code == "L-QUOTA-CAP"
    )
    assert line.grade is grade
    assert words in line.reason


def test_which_goals_hold_is_said_of_each() -> None:
    """VC-003: one verdict a goal; isolation is none where brokers let everyone in."""

    def verdicts(found: ClusterState) -> dict[str, Grade | None]:
        return {
            line.subject: line.grade for line in lowering_report(found) if line.code == "L-GOAL"
        }

    assert verdicts(state(BOUND)) == {
        "logical abstraction": Grade.SNAPSHOT,
        "isolation": Grade.EXACT,
        "simpler multi-tenancy": Grade.SNAPSHOT,
        "low administrative overhead": Grade.EXACT,
        "backward compatibility": Grade.EXACT,
        "transparency to clients": Grade.CLIENT,
    }
    everyone = state(BOUND, settings={"allow.everyone.if.no.acl.found": "true"})
    assert verdicts(everyone)["isolation"] is Grade.NONE


def test_the_audit_names_who_reaches_in_by_any_pattern() -> None:
    """VC-176: literal, prefix and wildcard, topics and ids; not who is a member, not what is
    denied, and not an id of a virtual cluster whose name only begins alike."""
    links = {"n": TopicLink(name="n", topic="orders.eu")}
    one = VirtualCluster(name="a", links=links, users=frozenset({"User:member"}))
    other = VirtualCluster(name="a.b")
    reaching = {
        "User:literal": (T, "orders.eu", LITERAL, {"a"}),
        "User:prefix": (T, "orders.", PREFIXED, {"a"}),
        "User:all": (T, "*", LITERAL, {"a"}),
        "User:group": (G, "a:g", LITERAL, {"a"}),
        "User:groups": (G, "a", PREFIXED, {"a", "a.b"}),
        "User:own": (G, "a:", PREFIXED, {"a"}),
        "User:ids": (X, "*", LITERAL, {"a", "a.b"}),
        "User:foreign": (T, "orders.us", LITERAL, set()),
        "User:other": (G, "c:g", LITERAL, set()),
        "User:member": (T, "orders.eu", LITERAL, set()),  # goes past its own rights only
    }
    acls = {
        acl("kafka-cluster", who, READ, kind, name, pattern)
        for who, (kind, name, pattern, _) in reaching.items()
    }
    denied = acl(
        "kafka-cluster", "User:denied", READ, T, "orders.eu", permission=PermissionType.DENY
    )
    found = replace(state(one, *acls, denied), virtual_clusters={one.name: one, other.name: other})
    lines = [line for line in lowering_report(found) if line.code == "L-ISOLATION"]
    assert {(line.subject, line.virtual_cluster) for line in lines} == {
        (who, name) for who, row in reaching.items() for name in row[3]
    }
    (past,) = (line for line in lowering_report(found) if line.code == "L-BYPASS")
    assert (past.virtual_cluster, past.subject) == ("a", "User:member")


def test_grades_fail_from_a_threshold_on() -> None:
    """§18: --fail-on=NONE takes NONE and REFUSE, --fail-on=APPROX also CLIENT and what is worse."""
    lines = lowering_report(state(BOUND, v(READ, T, "*")))
    grades = {line.grade for line in lines}
    assert {Grade.SNAPSHOT, Grade.CLIENT, Grade.NONE, None} <= grades
    assert {line.grade for line in failing_lines(lines, Grade.NONE)} == {Grade.NONE}
    assert {line.grade for line in failing_lines(lines, Grade.CLIENT)} == {Grade.CLIENT, Grade.NONE}
    assert failing_lines(
        lowering_report(state(EMPTY, v(Operation.CREATE_TOKENS, ResourceType.USER, "User:u"))),
        Grade.REFUSE,
    )


def test_every_threshold_takes_its_own_grade_and_all_worse_ones() -> None:
    """§0, §18: from the best to the worst; what grades nothing never fails, REFUSE always does."""
    order = ("EXACT", "SNAPSHOT", "APPROX", "CLIENT", "NONE", "REFUSE")
    lines = [LoweringLine(code=f"L-{name}", grade=Grade(name)) for name in reversed(order)]
    lines.append(LoweringLine(code="L-NATIVE", grade=None))
    for place, threshold in enumerate(order):
        failing = {line.grade for line in failing_lines(lines, Grade(threshold))}
        assert failing == {Grade(name) for name in order[place:]}


def test_where_brokers_know_virtual_clusters_one_line_is_said() -> None:
    """VC-392, VC-004: L-DATAPLANE and nothing else; nothing at all without virtual clusters."""
    assert [line.code for line in native_report(state(BOUND))] == ["L-DATAPLANE"]
    none = ClusterState(cluster_id="c", backend="embedded")
    assert native_report(none) == ()
    assert lowering_report(none) == ()
