"""Values of topic configs that hurt brokers: every config of Kafka has a decision."""

import pytest
from builders import a_cluster, a_desired, a_topic, applied, plan_of

from kgitops.kinds.topics.configs import HAZARDS, Hazard
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change
from kgitops.plan.document.risks import RiskLevel

RATED = [
    (key, each) for key, rated in HAZARDS.items() if not isinstance(rated, str) for each in rated
]
IDS = [f"{key}-{number}" for number, (key, _) in enumerate(RATED)]
ORDINARY = {
    "compression.type": "zstd",
    "delete.retention.ms": "100000",
    "flush.messages": "10000",
    "max.message.bytes": "104857600",
    "min.cleanable.dirty.ratio": "0.01",
    "min.insync.replicas": "2",
    "retention.bytes": "-1",
    "retention.ms": "-1",
    "segment.bytes": "52428800",
    "segment.index.bytes": "52428800",
    "segment.ms": "600000",
}
"""Values of Kafka Streams, of Kafka Connect and of real fleets."""


def created(configs: dict[str, str]) -> Change:
    three = a_topic(assignment=((1, 2, 3),), configs=configs)
    (change,) = plan_of(a_desired(three), a_cluster()).changes
    return change


def changed(before: dict[str, str], after: dict[str, str]) -> Change:
    current = applied(a_topic(configs=before))
    (change,) = plan_of(a_desired(a_topic(configs=after)), current).changes
    return change


def value_of(each: Hazard) -> str:
    """A value that hurts, as far as possible from those that do not."""
    if each.equals is not None:
        return each.equals
    return "1" if each.below and each.below > 1 else "0" if each.below else f"{each.above}9"


def beside(each: Hazard) -> dict[str, str]:
    return {} if each.where is None else {each.where[0]: each.where[1]}


def test_every_config_of_kafka_has_hazards_or_a_reason_to_have_none() -> None:
    assert set(HAZARDS) == set(topic_configs())
    assert all(HAZARDS.values())


@pytest.mark.parametrize(("key", "each"), RATED, ids=IDS)
def test_a_new_topic_with_a_value_that_hurts_says_why(key: str, each: Hazard) -> None:
    change = created({**beside(each), key: value_of(each)})
    assert risks.TOPIC_HAZARD in change.risks
    assert change.level is RiskLevel.DISRUPTIVE
    (field,) = [field for field in change.fields if field.path == f"configs.{key}"]
    assert field.note == each.because


@pytest.mark.parametrize(("key", "each"), RATED, ids=IDS)
def test_a_change_to_a_value_that_hurts_is_not_safe(key: str, each: Hazard) -> None:
    change = changed(beside(each), {**beside(each), key: value_of(each)})
    assert change.level is not RiskLevel.SAFE


def test_the_three_of_the_review_are_disruptive() -> None:
    compacted = {"cleanup.policy": "compact"}
    for key, value in (("segment.ms", "1"), ("segment.bytes", "1048576")):
        assert risks.TOPIC_HAZARD in changed({}, {key: value}).risks
    ratio = {**compacted, "min.cleanable.dirty.ratio": "0"}
    assert risks.TOPIC_HAZARD in changed(compacted, ratio).risks


def test_defaults_and_ordinary_values_are_quiet() -> None:
    defaults = {
        name: found.default
        for name, found in topic_configs().items()
        if found.default and not name.startswith(("remote.", "local."))
    }
    for policy in ("delete", "compact", "compact,delete"):
        for configs in (defaults, ORDINARY):
            change = created({**configs, "cleanup.policy": policy})
            assert set(change.risks) == {risks.TOPIC_CREATE}


def test_a_value_that_moves_away_from_the_harm_is_quiet() -> None:
    assert changed({"segment.ms": "1"}, {"segment.ms": "2"}).level is RiskLevel.SAFE
    assert changed({"segment.ms": "2"}, {"segment.ms": "1"}).level is RiskLevel.DISRUPTIVE
    assert changed({"segment.ms": "1"}, {}).level is RiskLevel.SAFE


def test_a_compaction_that_hurts_is_quiet_where_nothing_is_compacted() -> None:
    assert changed({}, {"min.cleanable.dirty.ratio": "0"}).level is RiskLevel.SAFE


def test_a_new_topic_with_unclean_elections_may_lose_records() -> None:
    change = created({"unclean.leader.election.enable": "true"})
    assert change.level is RiskLevel.DATA_LOSS
