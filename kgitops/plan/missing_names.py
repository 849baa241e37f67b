"""Warns of rights on topics and groups that do not exist once a plan is applied."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from kgitops.desired.declared_names import (
    DeclaredNames,
    NamedResource,
    named_resource,
    near_spelling,
)
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredAcl
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding, Severity, Source
from kgitops.plan.document.plan import Action, Change
from kgitops.plan.link_index import PlannedLinks

_MOST = 100
"""The most warnings of one plan; of more, only the number is reported."""
_SUGGESTIONS = 30
"""The most suggestions of one plan: each compares every name of the cluster."""
_CREATING = (Operation.CREATE, Operation.ALL)


def warn_of_missing_names(
    desired: DesiredState,
    changes: Sequence[Change],
    current: ClusterState,
    every_topic: Iterable[str],
) -> tuple[Finding, ...]:
    """Warn of declared bindings for a topic or group that does not exist after the plan.

    Covers the bindings that the plan creates, adopts or updates, and all those for what it
    deletes. A group may come into being with its first member: one that is neither declared nor
    deleted is reported only as a typing error for a declared one. ``every_topic`` has the names to
    suggest: ``current`` may be a part of the cluster.
    """
    names = _PlannedNames(desired, changes, current, every_topic)
    found: dict[tuple[Source, NamedResource], list[DesiredAcl]] = {}
    for acl in desired.of(DesiredAcl):
        resource = named_resource(acl.binding)
        if resource is not None and names.lacks(resource, of_changed=names.changes(acl)):
            place = acl.located.at("spec", "resource", "name")
            found.setdefault((place, resource), []).append(acl)
    ordered = sorted(found.items(), key=lambda item: (_order(item[0][0]), item[0][1].name))
    warnings = [
        names.warning(place, resource, acls, suggest=number < _SUGGESTIONS)
        for number, ((place, resource), acls) in enumerate(ordered[:_MOST])
    ]
    if len(ordered) > _MOST:
        more = f"{len(ordered) - _MOST:,} more names in ACLs do not exist after this plan"
        warnings.append(_warning(None, more, "correct those above first"))
    return tuple(warnings)


def _order(source: Source) -> tuple[str, int, int]:
    return source.file, source.line, source.column


def _warning(source: Source | None, problem: str, advice: str) -> Finding:
    return Finding(source=source, problem=problem, advice=advice, severity=Severity.WARNING)


class _PlannedNames:
    """The topics and groups before and after a plan."""

    def __init__(
        self,
        desired: DesiredState,
        changes: Sequence[Change],
        current: ClusterState,
        every_topic: Iterable[str],
    ) -> None:
        self._declared = DeclaredNames(desired)
        self._other_clusters = desired.scope.other_clusters
        self._changes = changes
        self._current = current
        self._every_topic = every_topic
        self._deleted = {change.address for change in changes if Action.DELETE in change.actions}
        self._changed = {change.address for change in changes} - self._deleted

    def changes(self, acl: DesiredAcl) -> bool:
        """Return whether the plan creates, adopts or updates the binding."""
        return acl.address in self._changed

    def lacks(self, resource: NamedResource, *, of_changed: bool) -> bool:
        """Return whether the plan takes it away, or a changed binding names what is not there."""
        if resource in self._declared:
            return False
        if self._is_removed(resource):
            return True
        if not of_changed:
            return False
        if resource.type is ResourceType.GROUP:
            return self._declared.meant_by(resource) is not None
        if resource.scope is not None:
            return resource.name not in self._links.of(resource.scope)
        return resource.name not in self._current.topics

    def warning(
        self, place: Source, resource: NamedResource, acls: Iterable[DesiredAcl], *, suggest: bool
    ) -> Finding:
        """Return the warning about one name at one place."""
        if self._is_removed(resource):
            does = "deletes" if resource.address in self._deleted else "removes"
            problem = f"this plan {does} {resource.text}, which is named here"
            return _warning(
                place, problem, f"remove the rights on it as well, or keep the {resource.type}"
            )
        if resource.address in self._other_clusters:
            return _warning(
                place,
                f"{resource.text} is declared for other clusters only, and is not on this one",
                "limit this document to those clusters as well, with metadata.clusters",
            )
        if resource.type is ResourceType.GROUP:
            advice = f"did you mean {self._declared.meant_by(resource)}?"
            return _warning(place, f"no document declares {resource.text}", advice)
        creates = any(acl.binding.operation in _CREATING for acl in acls)
        ends = " until a client creates it" if creates else ""
        near = near_spelling(resource.name, self._known(resource)) if suggest else None
        return _warning(
            place,
            f"{resource.text} is neither declared here nor on the cluster, so rights on it have no "
            f"effect{ends}",
            f"did you mean {near}?" if near else "declare the topic, or correct the name",
        )

    def _is_removed(self, resource: NamedResource) -> bool:
        if resource.address in self._deleted:
            return True
        if resource.type is ResourceType.GROUP or resource.scope is None:
            return False
        link = self._current.link(LocalName(resource.scope, resource.name))
        return link is not None and resource.name not in self._links.of(resource.scope)

    def _known(self, resource: NamedResource) -> Iterator[str]:
        """The names of topics that are there once the plan is applied."""
        yield from self._declared.beside(resource)
        if resource.scope is not None:
            yield from self._links.of(resource.scope)
            return
        for name in self._every_topic:
            is_deleted = NamedResource(ResourceType.TOPIC, name).address in self._deleted
            if not is_deleted and not is_internal(name):
                yield name

    @cached_property
    def _links(self) -> PlannedLinks:
        return PlannedLinks(self._current, self._changes)
