"""Defaults that hold for topics with a profile, where the profile replaced them before."""

from collections import Counter
from collections.abc import Iterable

from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.source import Finding, Severity
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Change

_CONFIGS = "configs."


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
