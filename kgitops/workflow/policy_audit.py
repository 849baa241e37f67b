"""Judges what a cluster holds today by the project's policies, declared or not.

They judge the requests that would make the cluster what it is.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.manifests.kind_models import OBJECT_KINDS, kind_class
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredObject
from kgitops.model.requests import Request, request_address, with_labels
from kgitops.model.resources.kinds import RESOURCES_IN_WORDS, Kind
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import Outcome, Ruling
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.workflow.loading import Loaded, OnStage, ignore_stage
from kgitops.workflow.project.selection import Workspace
from kgitops.workflow.reading import with_all_objects

_FIRST = (
    Kind.VIRTUAL_CLUSTER,
    Kind.TOPIC,
    Kind.LINK,
    Kind.ACL,
    Kind.QUOTA,
    Kind.BINDING,
    Kind.USER,
)
"""The kinds that are judged first, in this order: a policy sees the objects judged earlier."""


def requests_of(current: ClusterState, documents: Mapping[str, DesiredObject]) -> Iterator[Request]:
    """In the order of a plan, with the labels of the documents that declare the objects."""
    for request in _requests(current):
        document = documents.get(request_address(request))
        yield with_labels(request, document.labels if document else {})


def _requests(current: ClusterState) -> Iterator[Request]:
    others = sorted(kind for kind in OBJECT_KINDS if kind not in _FIRST)
    for kind in (*_FIRST, *others):
        yield from kind_class(kind).audited(current)


class AuditedObject(Struct, frozen=True, kw_only=True):
    """An object that breaks policies, or that one could not judge; ``owner`` is a project's id.

    ``source`` is the document that declares it in this project.
    """

    address: str
    owner: str | None
    source: Source | None
    rulings: tuple[Ruling, ...]

    @property
    def denied(self) -> bool:
        """True if the object could not be made as it is."""
        return any(ruling.stops for ruling in self.rulings)


class PolicyAudit(Struct, frozen=True, kw_only=True):
    """The objects of a cluster that break policies, by address; ``judged`` were asked about.

    ``users``: the users who log in were known, and judged. ``unread`` has the reasons why resources
    with configs were not.
    """

    cluster: str
    policies: int
    judged: int
    objects: tuple[AuditedObject, ...]
    users: bool = True
    unread: tuple[str, ...] = ()

    @property
    def denied(self) -> bool:
        """True if a policy at the level ``soft`` or ``hard`` is broken without a waiver."""
        return any(item.denied for item in self.objects)


def audit_policies(
    cluster: Cluster, declared: Loaded, workspace: Workspace, on_stage: OnStage = ignore_stage
) -> PolicyAudit:
    """Ask the policies about each object of the cluster, as if it were made now as it is.

    A group or another resource without configs is left out: policies judge nothing else of it.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    on_stage("reading the cluster")
    current, unread = with_all_objects(cluster, cluster.read_state(), workspace.project)
    on_stage("asking the policies")
    return audit_state(
        current,
        declared,
        workspace.target_name,
        workspace.principal,
        unread=tuple(reason for kind, reason in unread.items() if kind is not Kind.USER),
    )


_NOT_HELD = f"{RESOURCES_IN_WORDS.capitalize()} are left out: no snapshot holds them."


def audit_state(
    current: ClusterState,
    declared: Loaded,
    target_name: str,
    principal: str,
    *,
    unread: tuple[str, ...] = (_NOT_HELD,),
) -> PolicyAudit:
    """Ask the policies about each object of a state; one of a snapshot lacks those ``unread``.

    Raises:
        OtherClusterError: it is not the state of the pinned cluster.
    """
    if declared.desired.pin is not None:
        declared.desired.pin.check(current.cluster_id, snapshot=True)
    documents = {item.address: item for item in declared.desired.objects}
    asked = list(requests_of(current, documents))
    evaluator = declared.policies.evaluator
    rulings = [] if evaluator is None else _judged(evaluator, current, asked, principal)
    owners = current.registry.owners if current.registry else {}
    objects = []
    for request, found in zip(asked, rulings, strict=False):
        broken = tuple(ruling for ruling in found if ruling.outcome is not Outcome.PASSED)
        if broken:
            address = request_address(request)
            owner, document = owners.get(address), documents.get(address)
            objects.append(
                AuditedObject(
                    address=address,
                    owner=owner.project if owner else None,
                    source=document.located.source if document else None,
                    rulings=broken,
                )
            )
    return PolicyAudit(
        cluster=target_name,
        policies=len(declared.policies.bundle.policies),
        judged=len(asked) if evaluator is not None else 0,
        objects=tuple(sorted(objects, key=lambda item: item.address)),
        users=Kind.USER in current.asked,
        unread=unread,
    )


def _judged(
    evaluator: PolicyEvaluator, current: ClusterState, asked: list[Request], principal: str
) -> list[tuple[Ruling, ...]]:
    """The rulings on each request, on a cluster that has what was asked for before it."""
    empty = replace(
        current,
        topics={},
        acls=frozenset(),
        quotas={},
        objects={},
        virtual_clusters={},
        usage={},
        registry=None,
    )
    evaluator.begin(empty, principal=principal)
    found: list[tuple[Ruling, ...]] = []
    for request in asked:
        found.append(tuple(evaluator.judge(request)))
        evaluator.accept(request)
    return found
