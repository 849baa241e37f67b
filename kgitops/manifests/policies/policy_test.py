"""``kind: PolicyTest``: cases of requests, and the expected verdict of a policy on each."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import Field

from kgitops.manifests.kinds.fields import ConfigScalar, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import RuleMetadata
from kgitops.manifests.policies.policy_test_cluster import GivenCluster
from kgitops.manifests.policies.policy_test_requests import RequestStep


@manifest
class ExpectedOutcome:
    """An expected verdict of a policy."""

    address: Text
    """The address of the object, such as topic/orders."""
    outcome: Literal["denied", "passed"] = "denied"
    """The verdict: the policy denies the request, or lets it pass."""
    policy: Annotated[Text | None, NotNull()] = None
    """The policy's name; if left out, the policy under test."""
    message: Annotated[Text | None, NotNull()] = None
    """A regular expression (RE2) that is found in the policy's message."""


@manifest
class PolicyTestCase:
    """Requests that are judged in order; those that no policy denies take effect."""

    name: Text
    """The name of the case: the behaviour that it shows."""
    principal: Text = "User:ANONYMOUS"
    """The principal that makes the requests."""
    cluster: Annotated[GivenCluster | None, NotNull()] = None
    """The cluster that the case starts from, instead of spec.cluster."""
    requests: Annotated[list[RequestStep], MinLen(1)]
    """The requests."""
    expect: list[ExpectedOutcome] = field(default_factory=list)
    """The expected verdicts; a denial that is not among them fails the case."""
    never: list[Text] = field(default_factory=list)
    """Policies of the project that must not deny any of the requests."""


@manifest
class PolicyTestSpec:
    """The policy under test and the cases."""

    policy: Annotated[Text | None, NotNull()] = None
    """The name of a policy of the project."""
    class_: Annotated[Text | None, NotNull(), Field(alias="class")] = None
    """The module:Class of a policy that need not be in the project; instead of policy."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """The configs of the class."""
    cluster: GivenCluster = field(default_factory=GivenCluster)
    """The cluster that every case starts from."""
    cases: Annotated[list[PolicyTestCase], MinLen(1)]
    """The cases."""


@manifest
class PolicyTest:
    """A test of a policy.

    Example:
        apiVersion: kgitops/v1
        kind: PolicyTest
        metadata: {name: replication-factor}
        spec:
          policy: replication-factor
          cases:
            - name: two replicas are too few
              requests:
                - createTopic: {name: orders, partitions: 3, replicationFactor: 2}
              expect:
                - {address: topic/orders, outcome: denied, message: replication factor}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["PolicyTest"]
    """The kind of the document."""
    metadata: RuleMetadata
    """The metadata of the document."""
    spec: PolicyTestSpec
    """The policy under test and the cases."""
