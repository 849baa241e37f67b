"""The policies that brokers' configs name, by the keys of KIP-108 and KIP-201."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgitops.cluster.embedded.options import Options
from kgitops.model.errors import KgitopsError
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.policy.evaluate.bundle import Level, PythonPolicy, kebab_case
from kgitops.policy.legacy import ALTER_CONFIG_KEY, CREATE_TOPIC_KEY, KRAFT_COMPAT_KEY

TOPIC_KEY = "topic.management.policy.class.name"
BROKER_KEY = "broker.management.policy.class.name"
POLICY_KEYS = (TOPIC_KEY, BROKER_KEY, CREATE_TOPIC_KEY, ALTER_CONFIG_KEY)

_ADAPTER = "kgitops.policy.legacy:LegacyPolicyAdapter"
_log = logging.getLogger(__name__)


def check_policy_keys(options: Options) -> None:
    """Check the keys before anything is created; warn of the older ones (P201-92).

    Raises:
        KgitopsError: older and newer keys are both used (P201-93, P201-94), or a key is in the
            configs of one broker.
    """
    for broker, configs in sorted(options.broker_configs.items()):
        for key in configs.keys() & POLICY_KEYS:
            raise KgitopsError(
                f"the configs of broker {broker} have {key}; all brokers of an embedded cluster "
                "have the same policies: put it among the configs of all"
            )
    legacy = _legacy_keys(options)
    if TOPIC_KEY in options.static_configs and legacy:
        raise KgitopsError(
            f"the brokers' configs have both {TOPIC_KEY} and {' and '.join(legacy)}; the first "
            "judges all that the older judge: leave the older out"
        )
    for key in legacy:
        _log.warning("%s is deprecated; implement TopicManagementPolicy and use %s", key, TOPIC_KEY)


def key_policies(
    options: Options, configs: Mapping[str, str], folder: Path | None, taken: Iterable[str]
) -> dict[str, PythonPolicy]:
    """The policies that the keys name, by key, with all of ``configs`` (P201-44) and level hard.

    The two older policies are one, behind one interface (P201-96). ``taken`` are the names of other
    policies.
    """
    names = set(taken)
    policies: dict[str, PythonPolicy] = {}
    for key in (TOPIC_KEY, BROKER_KEY):
        if key in configs:
            name = _unused(_name(configs[key]), names)
            policies[key] = _policy(name, configs[key], configs, folder)
    legacy = _legacy_keys(options)
    if legacy:
        name = _unused("-and-".join(_name(configs[key]) for key in legacy), names)
        compat = {KRAFT_COMPAT_KEY: "false" if options.seed else "true"}
        policies[" and ".join(legacy)] = _policy(name, _ADAPTER, {**configs, **compat}, folder)
    return policies


def _legacy_keys(options: Options) -> list[str]:
    return [key for key in (CREATE_TOPIC_KEY, ALTER_CONFIG_KEY) if key in options.static_configs]


def _policy(
    name: str, class_: str, configs: Mapping[str, str], folder: Path | None
) -> PythonPolicy:
    return PythonPolicy(
        name=name,
        level=Level.HARD,
        digest=sha256(canonical_json({"class": class_, "configs": dict(configs)})),
        class_=class_,
        folder=folder,
        configs=dict(configs),
    )


def _name(class_: str) -> str:
    """The name that a project would use: ``team-prefix`` for ``rules.naming:TeamPrefix``."""
    return kebab_case(class_.rpartition(":")[2])


def _unused(name: str, names: set[str]) -> str:
    while name in names:
        name += "-of-the-brokers"
    names.add(name)
    return name
