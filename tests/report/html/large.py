"""Large plans by the real planner, with what policies may say of them."""

from builders import a_binding, a_desired, a_quota, a_tombstone, a_topic, an_acl, applied, plan_of
from msgspec.structs import replace
from report.plans import MIGRATION, POLICIES, judged, violation

from kgitops.desired.state import Safety
from kgitops.model.cluster_state import TopicUsage
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.document.risks import RiskLevel

BROKERS = 9


def large_plan(count: int = 1_000) -> Plan:
    """About ``count`` changes of every kind, with denials, waivers, data loss and access loss.

    Of a thousand: 20 topics deleted, 60 that lose records, 20 that move, the rest is mostly new.
    """
    part = count // 50
    doomed = [a_topic(f"legacy.events.{n}", partitions=6) for n in range(part)]
    shrunk = [
        a_topic(f"metrics.{n}", partitions=6, configs={"retention.ms": "604800000"})
        for n in range(3 * part)
    ]
    moved = [
        a_topic(f"bus.{n}", assignment=tuple((n % 3 + 1, p % 3 + 4) for p in range(6)))
        for n in range(part)
    ]
    revoked = [an_acl(a_binding(f"User:old-{n}", name=f"metrics.{n}")) for n in range(part)]
    # The new right stands before the one that it replaces goes.
    regranted = [
        an_acl(a_binding(f"User:old-{n}", "Describe", name=f"metrics.{n}")) for n in range(part)
    ]
    wanted = [
        *(a_tombstone(topic, name=f"drop-{n}") for n, topic in enumerate(doomed)),
        *(replace(topic, configs={"retention.ms": "86400000"}) for topic in shrunk),
        *(
            replace(topic, assignment=tuple((p % 3 + 4, p % 3 + 7) for p in range(6)))
            for topic in moved
        ),
        *regranted,
        *(
            a_topic(f"team-{n % 9}.events.{n}", partitions=n % 5 + 1, configs={"retention.ms": "1"})
            for n in range(22 * part)
        ),
        *(
            an_acl(a_binding(f"User:app-{n}", name=f"team-{n % 9}.events.{n}"))
            for n in range(20 * part)
        ),
        *(a_quota((("user", f"app-{n}"),), consumer_byte_rate=1048576) for n in range(part)),
    ]
    usage = {
        topic.name: TopicUsage(
            log_start_offsets=(0,) * 6,
            high_watermarks=(1_000 * n + 7,) * 6,
            size_bytes=(2**26 * (n + 1),) * 6,
            active_groups=("billing",) if n % 2 else (),
        )
        for n, topic in enumerate((*doomed, *shrunk, *moved))
    }
    plan = plan_of(
        a_desired(
            *wanted,
            safety=Safety(
                max_deletes=count, max_delete_percent=100, replication_throttle=10_000_000
            ),
        ),
        applied(*doomed, *shrunk, *moved, *revoked, brokers=BROKERS, usage=usage),
    )
    changes = tuple(_judged(change, n) for n, change in enumerate(plan.changes))
    return replace(plan, changes=changes, policies_loaded=POLICIES)


def _judged(change: Change, number: int) -> Change:
    if number % 97 == 3:
        words = "replication factor 2 is below 3"
        return judged(change, violation(change, "replication-factor-range", words))
    if number % 53 == 7:
        long = f"retention {number} d is above 7 d"
        return judged(change, violation(change, "retention-cap", long, waiver=MIGRATION))
    if number % 31 == 11:
        return judged(change, violation(change, "labels", "no team is named"))
    return judged(change)


def count_of(plan: Plan, level: RiskLevel) -> int:
    """How many changes are of a level."""
    return sum(change.level is level for change in plan.changes)
