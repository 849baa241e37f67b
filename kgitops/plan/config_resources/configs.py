"""Configs of groups and client metrics: what is requested, shown and reported as drift."""

from collections.abc import Mapping, Sequence

from kgitops.model.requests import AlterConfigResourceRequest, Request
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.plan.document.plan import Drift, FieldChange
from kgitops.plan.document.risks import Risk

Configs = Mapping[str, str]
RequestedConfigs = Mapping[str, str | None]
"""Key to the new value; None for a key that is removed."""


def requested_configs(declared: Configs, last: Configs, current: Configs) -> RequestedConfigs:
    """Return what must be set or removed; all configs are in normal form."""
    return {
        key: declared.get(key)
        for key in sorted({*declared, *last})
        if declared.get(key) != current.get(key)
    }


def removed_configs(last: Mapping[str, object], current: Configs) -> RequestedConfigs:
    """Return the removal of the keys that were last applied and are still set."""
    return {key: None for key in sorted(last_configs(last)) if key in current}


def last_configs(last: Mapping[str, object]) -> Configs:
    """Return the configs of what was last applied, which is in normal form."""
    configs = last.get("configs", {})
    return configs if isinstance(configs, dict) else {}


def config_requests(
    kind: ConfigResourceType, name: str, requested: RequestedConfigs
) -> Sequence[Request]:
    """Return the request for these configs, if there are any."""
    if not requested:
        return ()
    return [
        AlterConfigResourceRequest(resource_type=kind, resource_name=name, configs=dict(requested))
    ]


def expected_configs(requested: RequestedConfigs, current: Configs) -> dict[str, str | None]:
    """Return the fields of a precondition: what is requested, as it is now."""
    return {f"configs.{key}": current.get(key) for key in requested}


def config_fields(
    requested: RequestedConfigs, current: Configs, *, changed: Risk, removed: Risk
) -> tuple[FieldChange, ...]:
    """Return the fields that change, with the risk of a value that is set or of one that goes."""
    return tuple(
        FieldChange(
            path=f"configs.{key}",
            before=current.get(key),
            after=value,
            risk=removed if value is None else changed,
        )
        for key, value in requested.items()
    )


def config_drift(address: str, declared: Configs, last: Configs, current: Configs) -> list[Drift]:
    """Report the keys that somebody else changed since the last apply."""
    rows = []
    for key in sorted({*current, *last}):
        if current.get(key) == last.get(key):
            continue
        undeclared = key not in last and key not in declared
        restored = declared.get(key) != current.get(key)
        rows.append(
            Drift(
                address=address,
                path=f"configs.{key}",
                last_applied=last.get(key),
                found=current.get(key),
                rule="undeclared" if undeclared else "restored" if restored else "accepted",
            )
        )
    return rows
