"""A cluster as manifests: topics by their first name part, ACLs by principal, quotas together."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kgitops.desired.state import ConfigsPolicy, Project
from kgitops.model.acls import AclBinding
from kgitops.model.addresses import acl_address, quota_address, topic_address
from kgitops.model.cluster_state import ClusterState
from kgitops.model.names import REGISTRY_TOPIC
from kgitops.model.quotas import CLIENT_ID, IP, USER, ClientQuotaState
from kgitops.model.registry import Json
from kgitops.model.topic_configs import is_throttle
from kgitops.model.topics import TopicState
from kgitops.plan.ownership import Ownership, Standing, build_ownership

Document = Mapping[str, Json]

_FIELD_OF = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """File name to documents; ``left_out`` says in sentences what is not among them, and why."""

    files: Mapping[str, Sequence[Document]]
    left_out: tuple[str, ...] = ()


def export_manifests(state: ClusterState, project: Project) -> Export:
    """The cluster as ``project`` may declare it. Planned against it they ask for no request.

    What the project manages is written as it was declared: by assignment or by counts, with its
    deletionPolicy. Internal topics, the registry and what throttles a reassignment, unless it was
    declared, are brokers' business.
    """
    exporter = _Exporter(build_ownership(project, state.registry))
    for name in sorted(state.topics):
        exporter.add_topic(state.topics[name])
    for principal, acls in _by_principal(state.acls).items():
        exporter.add_acls(principal, acls)
    for entity in sorted(state.quotas, key=repr):
        exporter.add_quota(state.quotas[entity])
    return exporter.result()


@dataclass(slots=True)
class _Exporter:
    ownership: Ownership
    files: dict[str, list[Document]] = field(default_factory=dict)
    foreign: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)

    def result(self) -> Export:
        others = [
            f"left out what the project {label!r} manages: {count} in number; export it there"
            for label, count in sorted(self.foreign.items())
        ]
        return Export(files=self.files, left_out=(*others, *self.left_out))

    def add_topic(self, topic: TopicState) -> None:
        address = topic_address(topic.name)
        if topic.internal or topic.marked_for_deletion or not self._may_declare(address):
            return
        if len({len(replicas) for replicas in topic.assignment}) > 1:
            self.left_out.append(
                f"left out {address}: its partitions have different numbers of replicas, which no "
                "manifest can say; even them out first"
            )
            return
        prefix = _file_part(re.split(r"[._-]", topic.name)[0] or "topics")
        last = self.ownership.last_applied(address)
        self._add(f"topics/{prefix}.yaml", "Topic", topic.name, _topic_spec(topic, last))

    def add_acls(self, principal: str, acls: Sequence[AclBinding]) -> None:
        """One document for each resource, host, permission and policy, with all its operations."""
        groups: dict[tuple[str | None, ...], list[str]] = {}
        for acl in acls:
            address = acl_address(acl)
            if self._may_declare(address):
                last = self.ownership.last_applied(address)
                key = (*_sharing(acl), _written_policy(last).get("deletionPolicy"))
                groups.setdefault(key, []).append(acl.operation.value)
        part = _file_part(principal)
        for number, (key, operations) in enumerate(groups.items(), start=1):
            kind, name, pattern, host, permission, policy = key
            spec = {
                "principal": principal,
                "host": host,
                "permission": permission,
                "operations": sorted(operations),
                "resource": {"type": kind, "name": name, "patternType": pattern},
                **({"deletionPolicy": policy} if policy else {}),
            }
            self._add(f"acls/{part}.yaml", "Acl", f"{part}-{number}", spec)

    def add_quota(self, state: ClientQuotaState) -> None:
        address = quota_address(state.entity)
        if not self._may_declare(address):
            return
        entity = {
            _FIELD_OF[kind]: {"default": True} if name is None else name
            for kind, name in state.entity
        }
        quotas = {
            key: int(value) if value == int(value) else value
            for key, value in sorted(state.quotas.items())
        }
        label = "-".join(
            f"{kind}-{'default' if name is None else _file_part(name)}"
            for kind, name in state.entity
        )
        policy = _written_policy(self.ownership.last_applied(address))
        self._add(
            "quotas.yaml", "ClientQuota", label, {"entity": entity, "quotas": quotas, **policy}
        )

    def _may_declare(self, address: str) -> bool:
        if self.ownership.standing(address) is not Standing.FOREIGN:
            return True
        self.foreign[self.ownership.label(address)] += 1
        return False

    def _add(self, file: str, kind: str, name: str, spec: Mapping[str, Json]) -> None:
        # In lower case, for some file systems do not tell Orders.yaml from orders.yaml.
        self.files.setdefault(file.lower(), []).append(
            {
                "apiVersion": "kgitops/v1",
                "kind": kind,
                "metadata": {"name": name},
                "spec": dict(spec),
            }
        )


def _topic_spec(topic: TopicState, last: Mapping[str, Json]) -> dict[str, Json]:
    spec: dict[str, Json]
    if last.get("assignments"):
        spec = {"assignments": {p: list(replicas) for p, replicas in enumerate(topic.assignment)}}
    else:
        spec = {
            "partitions": topic.num_partitions,
            "replicationFactor": topic.replication_factor,
        }
    declared = last.get("configs", {})
    configs = {
        key: value
        for key, value in sorted(topic.configs.items())
        if key in declared or not is_throttle(key)
    }
    if configs:
        spec["configs"] = configs
    if last.get("configsPolicy") == ConfigsPolicy.EXACT:
        spec["configsPolicy"] = last["configsPolicy"]
    if last.get("deleteRecordsBefore"):
        offsets = last["deleteRecordsBefore"]
        spec["deleteRecordsBefore"] = {int(p): int(offset) for p, offset in offsets.items()}
    return spec | _written_policy(last)


def _written_policy(last: Mapping[str, Json]) -> dict[str, Json]:
    return {"deletionPolicy": last["deletionPolicy"]} if last.get("deletionPolicyWritten") else {}


def _by_principal(acls: Iterable[AclBinding]) -> dict[str, list[AclBinding]]:
    grouped: dict[str, list[AclBinding]] = {}
    for acl in sorted(acls, key=lambda acl: (acl.principal, acl)):
        if acl.resource_name != REGISTRY_TOPIC:
            grouped.setdefault(acl.principal, []).append(acl)
    return grouped


def _sharing(acl: AclBinding) -> tuple[str, ...]:
    """What the bindings of one document have in common, beside their principal."""
    return (
        acl.resource_type.value,
        acl.resource_name,
        acl.pattern_type.value,
        acl.host,
        acl.permission_type.value,
    )


def _file_part(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.") or "unnamed"
