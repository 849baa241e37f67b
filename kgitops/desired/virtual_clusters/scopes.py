"""The names of virtual clusters wherever documents write them."""

from kgitops.desired.findings import Declaring, Findings, Path
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem

ADVICE = "use up to 249 letters, digits, '.', '_' and '-'"


def scope_of(name: str | None) -> str | None:
    """The virtual cluster; None for the physical one, named or not (VC-100)."""
    return None if name == CLUSTER_NAME else name


def check_name(name: str, document: Declaring, path: Path, findings: Findings) -> None:
    """Report a name that no virtual cluster can have (VC-007, VC-104)."""
    if problem := virtual_cluster_name_problem(name):
        advice = "name a virtual cluster" if name == CLUSTER_NAME else ADVICE
        findings.error(document, path, problem, advice)
