"""Values and bindings that manifests declare now, and declared otherwise up to kgitops 0.1."""

from collections import Counter
from collections.abc import Iterable, Set

from msgspec.structs import replace

from kgitops.manifests.value_origin import OriginKind, ValueOrigin, origins_of
from kgitops.model.json.declared import DesiredAcl
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.addresses import acl_address
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Change

_CONFIGS = "configs."
_PRODUCER = "producer"


def warn_of_defaults_under_profiles(changes: Iterable[Change]) -> list[Finding]:
    """Explain each value of a default that is new to managed topics of a profile, in one line."""
    topics: Counter[tuple[str, str, ValueOrigin]] = Counter()
    for change in changes:
        applied = change.owner_before.last_applied if change.owner_before else {}
        configs = applied.get("configs") or {}
        for field_path, origin in change.origins.items():
            path = field_path.removeprefix("lastApplied.")
            is_new = path.startswith(_CONFIGS) and path.removeprefix(_CONFIGS) not in configs
            is_weaker = path == "deletionPolicy" and applied.get(path) == "Protect"
            if applied and origin.profile and origin.removed is None and (is_new or is_weaker):
                topics[origin.profile, path.removeprefix(_CONFIGS), origin] += 1
    return [
        Finding(
            source=origin.source,
            problem=f"{key} of the {origin.text} is new to {counted(count, 'topic')} of the "
            f"profile {profile}, which adds to the defaults now and replaced them up to 0.1",
            advice="to keep what was, write "
            f"{key}: {'Protect' if key == 'deletionPolicy' else 'null'} in the profile",
            severity=Severity.WARNING,
        )
        for (profile, key, origin), count in topics.items()
    ]


def warn_of_producers_without_create(
    declared: Iterable[DesiredAcl], leaving: Set[str]
) -> list[Finding]:
    """Explain the managed bindings that the role producer gave before, a line for each document.

    ``leaving`` are the addresses that the plan removes, or keeps because they are protected.
    """
    creates: dict[Source, set[str]] = {}
    for acl in declared:
        origin = origins_of(acl.located).get("operations")
        if origin and (origin.kind, origin.name) == (OriginKind.ROLE, _PRODUCER):
            create = acl_address(replace(acl.binding, operation=Operation.CREATE))
            if create in leaving:
                creates.setdefault(origin.source, set()).add(create)
    return [
        Finding(
            source=source,
            problem="the role producer gives no Create now, which it gave up to 0.1, so this "
            f"document declares {counted(len(addresses), 'binding')} less",
            advice="to keep what was, write create: true beside the role",
            severity=Severity.WARNING,
        )
        for source, addresses in creates.items()
    ]
