"""Tests of policies as values: the requests, their cluster, and the expected outcomes."""

from msgspec import Struct

from kgitops.manifests.policies.policy_test import RequestStep
from kgitops.model.cluster_state import ClusterState
from kgitops.model.source import Source
from kgitops.policy.evaluate.ruling import Outcome


class Expected(Struct, frozen=True, kw_only=True):
    """``policy`` must say ``outcome`` of ``address``; ``message`` is a regular expression."""

    address: str
    policy: str
    outcome: Outcome
    message: str | None
    source: Source


class CaseStep(Struct, frozen=True, kw_only=True):
    """One request of a case, not yet made: what it is depends on what was accepted before."""

    written: RequestStep
    source: Source


class Case(Struct, frozen=True, kw_only=True):
    """Requests that are judged in order on ``state``, for ``principal``."""

    name: str
    source: Source
    principal: str
    state: ClusterState
    steps: tuple[CaseStep, ...]
    expect: tuple[Expected, ...] = ()
    never: tuple[str, ...] = ()


class Suite(Struct, frozen=True, kw_only=True):
    """A test document.

    ``policy`` is the one under test; ``asked`` are all policies whose rulings count: it, and those
    that cases name. Every other policy is ignored.
    """

    name: str
    source: Source
    policy: str
    asked: frozenset[str]
    cases: tuple[Case, ...]
