"""Expands the roles of ACLs to the rights that Kafka's documents give a client of that kind.

A producer creates topics only with ``create: true``, because projects declare their topics.

https://kafka.apache.org/documentation/#security_authz_examples for producers and consumers,
https://kafka.apache.org/documentation/streams/developer-guide/security.html for Kafka Streams,
https://kafka.apache.org/documentation/#connect_exactlyoncesource for workers of Connect.

What roles allow may overlap with other documents; such bindings are merged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.findings import Declaration, DeclaredObject, Findings, scope_of
from kgitops.manifests.expanded import ExpandedDocument, Given, Path
from kgitops.manifests.value_origin import OriginKind
from kgitops.manifests.yaml.document import Document
from kgitops.model.json.declared import DesiredAcl
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

if TYPE_CHECKING:
    from kgitops.kinds.acls.acl import AclSpec

_WRITTEN = ("permission", "operations", "resource")
_RESOURCE: Path = ("spec", "resource")
_ALL_KINDS = (
    ResourceType.CLUSTER,
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.DELEGATION_TOKEN,
)


class Resource(Struct, frozen=True):
    """The resource of a grant."""

    type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL


class Grant(Struct, frozen=True):
    """Operations on one resource, of a ``role`` if one gives them.

    ``document`` knows where each value is written.
    """

    permission: PermissionType
    operations: Sequence[Operation]
    resource: Resource
    document: Document
    role: str | None = None


def expand_grants(spec: "AclSpec", document: Document, findings: Findings) -> Iterator[Grant]:
    """The grants of an Acl document: the one that is written, or those of its role.

    What is missing, or stands beside what excludes it, is added to ``findings``.
    """
    if spec.role is None:
        yield from _written(spec, document, findings)
        return
    for field in _WRITTEN:
        if getattr(spec, field) is not None:
            findings.error(
                document,
                ("spec", field),
                f"spec.{field} stands beside spec.role, which says it",
                f"remove one of the two; a document of its own can say the {field}",
                key=True,
            )
    if not _has_fields(spec, document, findings):
        return
    given = Given(OriginKind.ROLE, spec.role, document, ("spec", "role"))
    by_role: dict[Path, Given] = {("spec", "permission"): given, ("spec", "operations"): given}
    if isinstance(document, ExpandedDocument):
        by_role |= document.given
    for kind, name, operations, pattern, path in _ROLES[spec.role](spec):
        own_pattern = spec.pattern_type is pattern
        resource: dict[Path, Given] = {
            _RESOURCE: Given(None, "", document, path) if path else given,
            (*_RESOURCE, "type"): given,
            (*_RESOURCE, "name"): Given(None, "", document, path) if path else given,
            (*_RESOURCE, "patternType"): (
                Given(None, "", document, ("spec", "patternType")) if own_pattern else given
            ),
        }
        yield Grant(
            PermissionType.ALLOW,
            operations,
            Resource(kind, name, pattern),
            ExpandedDocument(document, {**by_role, **resource}),
            spec.role,
        )


def is_of_role(document: object) -> bool:
    """Return whether the document of a binding declares it by a role."""
    if not isinstance(document, ExpandedDocument):
        return False
    given = document.given.get(("spec", "operations"))
    return given is not None and given.kind is OriginKind.ROLE


def _written(spec: "AclSpec", document: Document, findings: Findings) -> Iterator[Grant]:
    missing = [field for field in _WRITTEN if getattr(spec, field) is None]
    for field in missing:
        findings.error(
            document,
            ("spec",),
            f"spec.{field} is missing",
            f"add it, or a role instead of {', '.join(_WRITTEN)}",
        )
    for field in _OF_ROLES:
        if getattr(spec, field) is not None:
            word = _WORDS.get(field, field)
            findings.error(
                document,
                ("spec", word),
                f"spec.{word} is a role's, and there is no spec.role",
                "add the role, or remove it",
                key=True,
            )
    if spec.permission and spec.operations and spec.resource:
        resource = spec.resource
        yield Grant(
            spec.permission,
            spec.operations,
            Resource(resource.type, resource.name, resource.pattern_type),
            document,
        )


_OF_ROLES = ("topics", "group", "transactional_id", "application_id", "create", "pattern_type")
_WORDS = {
    "transactional_id": "transactionalId",
    "application_id": "applicationId",
    "pattern_type": "patternType",
}
# The fields that a role needs, and those that it may have.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "producer": ("topics",),
    "consumer": ("topics", "group"),
    "streams": ("application_id",),
    "connect-worker": ("topics", "group"),
    "admin": (),
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "producer": ("transactional_id", "create", "pattern_type"),
    "consumer": ("pattern_type",),
    "streams": ("transactional_id",),
    "connect-worker": ("transactional_id",),
    "admin": (),
}


def _has_fields(spec: "AclSpec", document: Document, findings: Findings) -> bool:
    """Check the fields against the role; True if it can be expanded."""
    role = str(spec.role)
    if role == "admin" and scope_of(spec.virtual_cluster) is not None:
        findings.error(
            document,
            ("spec", "virtualCluster"),
            "the role admin is for the physical cluster, not for a virtual one",
            "remove it, or write out permission, operations and resource of what is to be allowed",
            key=True,
        )
        return False
    missing = [field for field in _NEEDED[role] if getattr(spec, field) is None]
    for field in missing:
        word = _WORDS.get(field, field)
        findings.error(document, ("spec", "role"), f"the role {role} needs spec.{word}", "add it")
    for field in _OF_ROLES:
        if field not in (*_NEEDED[role], *_ALLOWED[role]) and getattr(spec, field) is not None:
            word = _WORDS.get(field, field)
            findings.error(
                document,
                ("spec", word),
                f"the role {role} has no use for spec.{word}",
                "remove it",
                key=True,
            )
    return not missing


_Right = tuple[ResourceType, str, tuple[Operation, ...], PatternType, tuple[str | int, ...]]


def _pattern(spec: "AclSpec", name: str) -> PatternType:
    """The pattern type of a name: "*" is every resource, whatever the others are."""
    return PatternType.LITERAL if name == "*" else spec.pattern_type or PatternType.LITERAL


def _topics(spec: "AclSpec", *operations: Operation) -> Iterator[_Right]:
    for index, name in enumerate(spec.topics or ()):
        path = ("spec", "topics", index)
        yield ResourceType.TOPIC, name, operations, _pattern(spec, name), path


def _group(spec: "AclSpec", *operations: Operation) -> Iterator[_Right]:
    name = spec.group or ""
    yield ResourceType.GROUP, name, operations, _pattern(spec, name), ("spec", "group")


def _transactional(spec: "AclSpec", pattern: PatternType | None = None) -> Iterator[_Right]:
    name = spec.transactional_id
    if name is not None:
        both = (Operation.WRITE, Operation.DESCRIBE)
        path = ("spec", "transactionalId")
        yield ResourceType.TRANSACTIONAL_ID, name, both, pattern or _pattern(spec, name), path


def _producer(spec: "AclSpec") -> Iterator[_Right]:
    may_create = (Operation.CREATE,) if spec.create else ()
    yield from _topics(spec, Operation.WRITE, Operation.DESCRIBE, *may_create)
    yield from _transactional(spec)


def _consumer(spec: "AclSpec") -> Iterator[_Right]:
    yield from _topics(spec, Operation.READ, Operation.DESCRIBE)
    yield from _group(spec, Operation.READ)


def _streams(spec: "AclSpec") -> Iterator[_Right]:
    """Its own topics and groups; what it reads and writes is another document's.

    With exactly-once, each of its threads has a transactional id that begins with the application
    id.
    """
    name, path = spec.application_id or "", ("spec", "applicationId")
    for kind in (ResourceType.TOPIC, ResourceType.GROUP):
        yield kind, name, (Operation.ALL,), PatternType.PREFIXED, path
    yield from _transactional(spec, PatternType.PREFIXED)


def _connect_worker(spec: "AclSpec") -> Iterator[_Right]:
    both = (Operation.READ, Operation.WRITE)
    yield from _topics(spec, *both, Operation.DESCRIBE, Operation.CREATE)
    yield from _group(spec, Operation.READ, Operation.DESCRIBE)
    yield from _transactional(spec)


def _admin(_spec: "AclSpec") -> Iterator[_Right]:
    for kind in _ALL_KINDS:
        name = CLUSTER_NAME if kind is ResourceType.CLUSTER else "*"
        yield kind, name, (Operation.ALL,), PatternType.LITERAL, ()


_ROLES: Mapping[str, Callable[["AclSpec"], Iterator[_Right]]] = {
    "producer": _producer,
    "consumer": _consumer,
    "streams": _streams,
    "connect-worker": _connect_worker,
    "admin": _admin,
}
_WITH_ALL_FIELDS = cast(
    "AclSpec",
    SimpleNamespace(
        topics=[""],
        group="",
        transactional_id="",
        application_id="",
        create=True,
        pattern_type=None,
    ),
)


@cache
def rights_of(role: str) -> frozenset[tuple[ResourceType, Operation]]:
    """Return the rights that documents of a role can give; an unknown role gives none."""
    expand = _ROLES.get(role)
    rights = expand(_WITH_ALL_FIELDS) if expand else ()
    return frozenset((kind, operation) for kind, _, allowed, *_ in rights for operation in allowed)


_Declared = tuple[DesiredAcl, Declaration]


def merge_overlaps(objects: Sequence[DeclaredObject], findings: Findings) -> list[DeclaredObject]:
    """The objects, with each binding once that several documents declare, all but one by a role.

    It has the labels of all of them. Two that differ in a label or in deletionPolicy stay, and are
    reported; so do bindings that are written out twice.
    """
    if not any(is_of_role(desired.located) for desired, _ in objects):
        return list(objects)
    by_address: dict[str, list[_Declared]] = {}
    for desired, document in objects:
        if isinstance(desired, DesiredAcl):
            by_address.setdefault(desired.address, []).append((desired, document))
    merged: dict[str, DesiredAcl | None] = {
        address: _merged(several, findings)
        for address, several in by_address.items()
        if len(several) > 1 and _may_overlap(several)
    }
    kept: list[DeclaredObject] = []
    for desired, document in objects:
        if desired.address not in merged:
            kept.append((desired, document))
        elif (one := merged[desired.address]) is not None:
            kept.append((one, document))
            merged[desired.address] = None
    return kept


def _may_overlap(several: Sequence[_Declared]) -> bool:
    documents = {id(document) for _, document in several}
    written_out = sum(not is_of_role(desired.located) for desired, _ in several)
    return len(documents) == len(several) and written_out <= 1


def _merged(several: Sequence[_Declared], findings: Findings) -> DesiredAcl:
    first, where = several[0]
    for other, document in several[1:]:
        differing = _differing(first, other)
        if differing is not None:
            findings.error(
                document,
                ("spec", "role"),
                f"{other.address} is declared already at {where.source}, with another {differing}",
                f"write the same {differing} in both documents, or declare it in one of them",
            )
        labels = {**other.labels, **first.labels}
        written = first.deletion_policy_written or other.deletion_policy_written
        first = replace(first, labels=labels, deletion_policy_written=written)
    return first


def _differing(one: DesiredAcl, other: DesiredAcl) -> str | None:
    if one.deletion_policy is not other.deletion_policy:
        return "deletionPolicy"
    shared = one.labels.keys() & other.labels.keys()
    return next(
        (f"label {key}" for key in sorted(shared) if one.labels[key] != other.labels[key]), None
    )
