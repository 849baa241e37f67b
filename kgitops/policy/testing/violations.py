"""What a policy says of a request."""

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.interfaces import Configurable
from kgitops.policy.api.requests import PolicyRequest, api_of
from kgitops.policy.api.violation import PolicyViolation
from kgitops.policy.evaluate.rules import Level
from kgitops.policy.load.python_rule import METHODS, PythonRule
from kgitops.policy.testing.clusters import cluster


def violation(
    policy: Configurable,
    request: PolicyRequest,
    cluster_state: ClusterState | None = None,
) -> PolicyViolation | None:
    """Why the policy refuses the request; None where it accepts it.

    Without ``cluster_state`` the cluster is empty. Whatever else the policy raises is raised.

    Raises:
        TypeError: the policy implements no interface for this kind of request, or returned
            something.
    """
    api = api_of(request)
    interface, _ = METHODS[api]
    if not isinstance(policy, interface):
        raise TypeError(f"{type(policy).__name__} is no {interface.__name__}: it never sees {api}")
    rule = PythonRule(type(policy).__name__, Level.HARD, policy)
    for found in rule.look(api, request, cluster() if cluster_state is None else cluster_state):
        return PolicyViolation(found.message, field=found.field)
    return None
