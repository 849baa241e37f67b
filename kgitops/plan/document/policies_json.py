"""Results of policies as JSON, and read back."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from kgitops.model.json.objects import read_source, source_to_json
from kgitops.model.json.strict import choice, members, text, text_or_none
from kgitops.model.registry import Json
from kgitops.plan.document.policies import LoadedPolicy, PolicyResult, WaiverUse
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.evaluate.ruling import Outcome

_PASSED_KEYS = ("policy", "level", "outcome", "message")
_RESULT_KEYS = (*_PASSED_KEYS, "request", "field", "source", "fingerprint", "waiver")


def loaded_to_json(policy: LoadedPolicy) -> dict[str, Json]:
    """Write a loaded policy."""
    return {
        "name": policy.name,
        "level": str(policy.level),
        "digest": policy.digest,
        "description": policy.description,
        "remediation": policy.remediation,
        "source": source_to_json(policy.source),
    }


def result_to_json(result: PolicyResult) -> dict[str, Json]:
    """Write a policy's result for a change; callers must not change it."""
    row = _row(result.policy, result.level, result.outcome, result.message)
    # Nearly all rows are of policies that passed: they say no more than the contract asks for,
    # and are one object for all changes.
    if result.outcome is Outcome.PASSED:
        return row
    return {
        **row,
        "request": result.request,
        "field": result.field,
        "source": source_to_json(result.source),
        "fingerprint": result.fingerprint,
        "waiver": _waiver_to_json(result.waiver),
    }


@lru_cache(maxsize=1024)
def _row(policy: str, level: Level, outcome: Outcome, message: str) -> dict[str, Json]:
    return {
        "policy": policy,
        "level": str(level),
        "outcome": str(outcome),
        "message": message,
    }


def _waiver_to_json(waiver: WaiverUse | None) -> dict[str, Json] | None:
    if waiver is None:
        return None
    return {
        "name": waiver.name,
        "owner": waiver.owner,
        "reason": waiver.reason,
        "ticket": waiver.ticket,
        "expires": waiver.expires,
    }


def read_loaded(value: Json, path: str) -> LoadedPolicy:
    """Read a policy that ``loaded_to_json`` wrote."""
    keys = ("name", "level", "digest", "description", "remediation", "source")
    given = members(value, path, keys)
    return LoadedPolicy(
        name=text(given["name"], f"{path}.name"),
        level=choice(Level, given["level"], f"{path}.level"),
        digest=text(given["digest"], f"{path}.digest"),
        description=text(given["description"], f"{path}.description"),
        remediation=text(given["remediation"], f"{path}.remediation"),
        source=read_source(given["source"], f"{path}.source"),
    )


def read_result(value: Json, path: str) -> PolicyResult:
    """Read a result that ``result_to_json`` wrote."""
    passed = isinstance(value, Mapping) and value.get("outcome") == Outcome.PASSED
    given = members(value, path, _PASSED_KEYS if passed else _RESULT_KEYS)
    result = PolicyResult(
        policy=text(given["policy"], f"{path}.policy"),
        level=choice(Level, given["level"], f"{path}.level"),
        outcome=choice(Outcome, given["outcome"], f"{path}.outcome"),
        message=text(given["message"], f"{path}.message"),
    )
    if passed:
        return result
    return replace(
        result,
        request=text_or_none(given["request"], f"{path}.request"),
        field=text_or_none(given["field"], f"{path}.field"),
        source=read_source(given["source"], f"{path}.source"),
        fingerprint=text_or_none(given["fingerprint"], f"{path}.fingerprint"),
        waiver=_waiver(given["waiver"], f"{path}.waiver"),
    )


def _waiver(value: Json, path: str) -> WaiverUse | None:
    if value is None:
        return None
    keys = ("name", "owner", "reason", "ticket", "expires")
    given = members(value, path, keys)
    return WaiverUse(**{key: text(given[key], f"{path}.{key}") for key in keys})
