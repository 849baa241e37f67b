"""A cluster as manifests: topics by their first name part, ACLs by principal, quotas together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from kgitops.model.acls import AclBinding
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UsageError
from kgitops.model.names import REGISTRY_TOPIC
from kgitops.model.quotas import CLIENT_ID, IP, USER, ClientQuotaState
from kgitops.model.registry import Json
from kgitops.model.topic_configs import is_throttle
from kgitops.model.topics import TopicState

Documents = Sequence[Mapping[str, Json]]

_FIELD_OF = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# What reads as a string in every YAML; all else is quoted, for readers differ on the rest.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def export_manifests(state: ClusterState) -> dict[str, Documents]:
    """File name to documents. Planned against the same cluster they ask for no request.

    Internal topics, the registry and what throttles a reassignment are brokers' business.
    """
    files: dict[str, list[Mapping[str, Json]]] = {}
    for name in sorted(state.topics):
        topic = state.topics[name]
        if not topic.internal:
            prefix = _file_part(re.split(r"[._-]", name)[0] or "topics")
            files.setdefault(f"topics/{prefix}.yaml", []).append(_topic(topic))
    for principal, acls in _by_principal(state.acls).items():
        file = f"acls/{_file_part(principal)}.yaml"
        files.setdefault(file, []).extend(_acls(principal, acls))
    quotas = [_quota(state.quotas[entity]) for entity in sorted(state.quotas, key=repr)]
    if quotas:
        files["quotas.yaml"] = quotas
    return dict(files)


def write_manifests(files: Mapping[str, Documents], folder: Path) -> None:
    """Write all files below ``folder``, which must be new or empty.

    Raises:
        UsageError: the folder holds something, or can't be written.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder, nothing is overwritten")
        for name, documents in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = yaml.dump_all(
                documents,
                Dumper=_Dumper,
                sort_keys=False,
                explicit_start=True,
                width=100,
                allow_unicode=True,
            )
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} can't be written: {error.strerror}; name another") from error


class _Dumper(yaml.SafeDumper):
    """Quotes every string that some reader of YAML might take for something else."""

    def ignore_aliases(self, data: Json) -> bool:
        del data
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _string)


def _document(kind: str, name: str, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    return {
        "apiVersion": "kgitops/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": dict(spec),
    }


def _topic(topic: TopicState) -> Mapping[str, Json]:
    factors = {len(replicas) for replicas in topic.assignment}
    spec: dict[str, Json]
    if len(factors) == 1:
        spec = {
            "partitions": topic.num_partitions,
            "replicationFactor": topic.replication_factor,
        }
    else:
        spec = {"assignments": {p: list(r) for p, r in enumerate(topic.assignment)}}
    configs = {key: value for key, value in sorted(topic.configs.items()) if not is_throttle(key)}
    if configs:
        spec["configs"] = configs
    return _document("Topic", topic.name, spec)


def _by_principal(acls: Iterable[AclBinding]) -> dict[str, list[AclBinding]]:
    grouped: dict[str, list[AclBinding]] = {}
    for acl in sorted(acls, key=lambda acl: (acl.principal, acl)):
        if acl.resource_name != REGISTRY_TOPIC:
            grouped.setdefault(acl.principal, []).append(acl)
    return grouped


def _acls(principal: str, acls: Sequence[AclBinding]) -> Documents:
    """One document for each resource, host and permission, with all its operations."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for acl in acls:
        key = (
            acl.resource_type.value,
            acl.resource_name,
            acl.pattern_type.value,
            acl.host,
            acl.permission_type.value,
        )
        groups.setdefault(key, []).append(acl.operation.value)
    return [
        _document(
            "Acl",
            f"{_file_part(principal)}-{number}",
            {
                "principal": principal,
                "host": host,
                "permission": permission,
                "operations": sorted(operations),
                "resource": {"type": kind, "name": name, "patternType": pattern},
            },
        )
        for number, ((kind, name, pattern, host, permission), operations) in enumerate(
            groups.items(), start=1
        )
    ]


def _quota(state: ClientQuotaState) -> Mapping[str, Json]:
    entity = {
        _FIELD_OF[kind]: {"default": True} if name is None else name for kind, name in state.entity
    }
    quotas = {
        key: int(value) if value == int(value) else value
        for key, value in sorted(state.quotas.items())
    }
    label = "-".join(
        f"{kind}-{'default' if name is None else _file_part(name)}" for kind, name in state.entity
    )
    return _document("ClientQuota", label, {"entity": entity, "quotas": quotas})


def _file_part(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.") or "unnamed"
