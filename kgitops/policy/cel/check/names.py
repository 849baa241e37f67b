"""Names: the variables, and the names that loops give."""

from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.wording import nearest
from kgitops.policy.cel.functions import FUNCTIONS, OTHERS
from kgitops.policy.cel.nodes import Name
from kgitops.policy.cel.types import Type
from kgitops.policy.cel.variables import VARIABLES

# The names that Kubernetes' policies use for what is called otherwise here.
_ELSEWHERE = {
    "object": "requested",
    "oldObject": "current",
    "self": "requested",
    "oldSelf": "current",
    "topic": "requested",
    "namespaceObject": "cluster",
    "authorizer": "principal",
    "params": "a literal, or ${var:NAME} of the cluster's variables",
}


def name_type(checking: Checking, node: Name) -> Type:
    """The type of a name."""
    if node.name in checking.scope:
        return checking.scope[node.name]
    if node.name == VARIABLES:
        return checking.add(node, "variables stands alone", "write variables.NAME")
    if node.name in FUNCTIONS or node.name in OTHERS:
        return checking.add(node, f"{node.name} is a function", f"write {node.name}(…)")
    meant = _ELSEWHERE.get(node.name)
    advice = f"write {meant}" if meant else nearest(node.name, checking.scope, "it may be")
    return checking.add(node, f"there is no variable {node.name}", advice)
