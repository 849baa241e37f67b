"""Topic configs, held to what Apache Kafka's own LogConfig answers.

``data/log_config_answers.json`` records those answers. To make it anew: give each value to
``LogConfig.validate(existing, configs, KafkaConfig.extractLogConfigMap(), true)`` of the version
that it names, note whether that throws, and for one value alone add
``ConfigDef.convertToString(ConfigDef.parseType(key, value, type), type)``.
"""

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgitops.model.resources.topic_configs import (
    ConfigType,
    config_problem,
    configs_problems,
    effective_default,
    is_throttle,
    kafka_version,
    nearest_config,
    normal_value,
    removed_config,
    topic_configs,
)

ANSWERS = json.loads(
    (Path(__file__).parent / "data" / "log_config_answers.json").read_text(encoding="utf-8")
)
KEYS = sorted(topic_configs())


def test_the_recorded_answers_are_of_the_version_that_is_known():
    assert ANSWERS["kafka_version"] == kafka_version()


def test_a_value_is_a_problem_exactly_where_kafka_refuses_it():
    wrong = [
        (key, value, accepted, config_problem(key, value))
        for key, value, accepted, *_ in ANSWERS["values"]
        if accepted == bool(config_problem(key, value))
    ]
    assert wrong == []


def test_every_config_was_put_to_kafka_with_values_that_it_accepts_and_refuses():
    answers = {(key, accepted) for key, _, accepted, *_ in ANSWERS["values"]}
    assert answers == {(key, accepted) for key in KEYS for accepted in (True, False)}


def test_the_normal_form_is_what_kafka_writes():
    """But for lists, which are sorted, and for minus zero."""
    wrong = [
        (key, value, kafkas, normal_value(key, value))
        for key, value, accepted, *rest in ANSWERS["values"]
        if accepted and topic_configs()[key].type is not ConfigType.LIST
        for kafkas in rest
        if normal_value(key, value) != kafkas.replace("-0.0", "0.0")
    ]
    assert wrong == []


def test_the_normal_form_of_a_list_has_the_same_items_as_kafkas():
    for key, value, accepted, *rest in ANSWERS["values"]:
        if accepted and topic_configs()[key].type is ConfigType.LIST:
            items = {item.strip("\x1f") for item in rest[0].split(",")} - {""}
            assert normal_value(key, value) == ",".join(sorted(items))


def test_combinations_are_a_problem_exactly_where_kafka_refuses_them():
    wrong = [
        (row, problems)
        for row in ANSWERS["combinations"]
        if row["accepted"] == bool(problems := _problems(row))
    ]
    assert wrong == []


def _problems(row):
    configs = row["configs"]
    single = [config_problem(key, value) for key, value in configs.items()]
    cross = configs_problems(
        configs, broker_defaults=row.get("broker"), existing=row.get("existing")
    )
    return [*filter(None, single), *cross]


def test_every_default_of_kafka_is_legal_and_in_normal_form():
    for config in topic_configs().values():
        if config.default is not None:
            assert config_problem(config.name, config.default) is None
            assert normal_value(config.name, config.default) == config.default
    assert configs_problems({}) == ()


TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(string.digits + "+-.eEfFdDxX_ \t", max_size=25),
    st.text(string.ascii_letters + ",: *" + string.digits, max_size=25),
    st.lists(st.sampled_from(["compact", "delete", "", "0:1", "1:12", "*", " "])).map(",".join),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(str),
)


@given(st.sampled_from(KEYS), TEXTS)
def test_the_normal_form_is_its_own_normal_form(key, value):
    once = normal_value(key, value)
    assert normal_value(key, once) == once


@given(st.sampled_from(KEYS), TEXTS)
def test_a_value_is_as_legal_as_its_normal_form(key, value):
    legal = config_problem(key, value) is None
    assert legal == (config_problem(key, normal_value(key, value)) is None)


@given(TEXTS, TEXTS)
def test_nothing_is_said_of_an_unknown_key(key, value):
    key = f"unknown.{key}"
    assert normal_value(key, value) == value
    assert config_problem(key, value) is None
    assert configs_problems({key: value}) == ()


@pytest.mark.parametrize(
    ("key", "value", "normal"),
    [
        ("preallocate", "True", "true"),
        ("retention.ms", " +0604800000", "604800000"),
        ("min.cleanable.dirty.ratio", ".50", "0.5"),
        ("min.cleanable.dirty.ratio", "0.00001", "1.0E-5"),
        ("cleanup.policy", "delete, compact", "compact,delete"),
        ("cleanup.policy", "delete,delete", "delete"),
        ("leader.replication.throttled.replicas", "1:2,0:1,,1:2", "0:1,1:2"),
        ("compression.type", " zstd", "zstd"),
        ("retention.ms", " a week ", "a week"),
        ("cleanup.policy", " delete,,compact ", "delete,,compact"),
        ("retention.ms", "0" * 5000 + "1", "1"),
        ("retention.ms", "1" * 5000, "1" * 5000),
    ],
)
def test_values_that_mean_the_same_are_written_the_same(key, value, normal):
    assert normal_value(key, value) == normal


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("preallocate", "yes", "must be true or false, not 'yes'"),
        ("segment.bytes", "14", "must be a whole number from 1048576 to 2147483647, not '14'"),
        ("retention.ms", "7d", "must be a whole number from -1 to 9223372036854775807, not '7d'"),
        ("compression.gzip.level", "0", "must be a whole number from 1 to 9 or -1, not '0'"),
        ("min.cleanable.dirty.ratio", "50%", "must be a number from 0 to 1, not '50%'"),
        ("message.timestamp.type", "now", "must be one of CreateTime, LogAppendTime, not 'now'"),
        ("cleanup.policy", "none", "must be empty, or a list of compact and delete, not 'none'"),
        (
            "leader.replication.throttled.replicas",
            "all",
            "must be * or a list of partition:broker pairs such as 0:1,1:2, not 'all'",
        ),
        ("preallocate", "y" * 100, f"must be true or false, not '{'y' * 80}…'"),
    ],
)
def test_a_problem_says_what_is_legal(key, value, problem):
    assert config_problem(key, value) == f"{key} {problem}"


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            (
                "min.compaction.lag.ms",
                "min.compaction.lag.ms is 10, more than max.compaction.lag.ms, which is 5",
            ),
        ),
        (
            {"remote.storage.enable": "true", "local.retention.ms": "604800001"},
            (
                "local.retention.ms",
                "local.retention.ms is 604800001, more than retention.ms, which is 604800000",
            ),
        ),
        (
            {"remote.storage.enable": "true", "cleanup.policy": "compact"},
            (
                "cleanup.policy",
                "cleanup.policy must be delete or empty where remote.storage.enable is true",
            ),
        ),
    ],
)
def test_a_problem_between_configs_names_the_key_at_fault(configs, problem):
    assert configs_problems(configs) == (problem,)


def test_every_problem_between_configs_is_found_at_once():
    """Kafka itself stops at the first."""
    problems = configs_problems(
        {
            "remote.storage.enable": "true",
            "cleanup.policy": "compact",
            "local.retention.ms": "-1",
            "local.retention.bytes": "5",
            "retention.bytes": "4",
            "min.compaction.lag.ms": "2",
            "max.compaction.lag.ms": "1",
        }
    )
    assert {key for key, _ in problems} == {
        "min.compaction.lag.ms",
        "cleanup.policy",
        "local.retention.bytes",
        "local.retention.ms",
    }


def test_every_config_says_what_it_is_for():
    for config in topic_configs().values():
        assert config.doc.endswith(".")
        assert "<" not in config.doc


def test_a_config_knows_the_brokers_name_for_it():
    assert topic_configs()["retention.ms"].server_default == "log.retention.ms"
    assert topic_configs()["max.message.bytes"].server_default == "message.max.bytes"
    assert topic_configs()["remote.storage.enable"].server_default is None


def test_the_table_can_not_be_changed():
    with pytest.raises(TypeError):
        topic_configs()["retention.ms"] = None


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("message.format.version", "remove it"),
        ("message.downconversion.enable", "remove it"),
        ("message.timestamp.difference.max.ms", "message.timestamp.before.max.ms"),
    ],
)
def test_a_config_that_kafka_4_removed_has_advice_and_is_not_known(key, instead):
    assert instead in (removed_config(key) or "")
    assert key not in topic_configs()


@pytest.mark.parametrize("key", ["retention.ms", "no.such.config"])
def test_other_configs_were_not_removed(key):
    assert removed_config(key) is None


@pytest.mark.parametrize(
    ("typo", "key"),
    [
        ("retention.mss", "retention.ms"),
        ("retentionMs", "retention.ms"),
        ("retention_bytes", "retention.bytes"),
        ("cleanup-policy", "cleanup.policy"),
        ("cleanup.polcy", "cleanup.policy"),
        ("log.retention.ms", "retention.ms"),
        ("log.retention.hours", "retention.ms"),
        ("message.max.bytes", "max.message.bytes"),
        ("min.insync.replica", "min.insync.replicas"),
        ("RETENTION.MS", "retention.ms"),
        ("xyz", None),
    ],
)
def test_a_misspelt_key_finds_the_one_that_was_meant(typo, key):
    assert nearest_config(typo) == key


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_exists_is_nearest_to_itself(key):
    assert nearest_config(key) == key


def test_a_default_comes_from_the_cluster_where_it_sets_one():
    defaults = {"retention.ms": "1000"}
    assert effective_default("retention.ms", defaults) == ("1000", "cluster default")
    assert effective_default("retention.bytes", defaults) == ("-1", "Kafka default")
    assert effective_default("no.such.config", defaults) == (None, "Kafka default")


def test_only_the_throttled_replicas_are_throttles():
    assert [key for key in KEYS if is_throttle(key)] == [
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
    ]
