"""What the check finds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgitops.policy.cel.nodes import Node


@dataclass(frozen=True)
class Problem:
    """What can't be meant. ``weak``: only where it is reached; running a sample tells."""

    node: Node
    text: str
    advice: str
    weak: bool = False


def everywhere(problems: Mapping[str, Sequence[Problem]]) -> Iterator[Problem]:
    """What is wrong whichever request it is: of each place one problem, the most helpful."""
    by_node: dict[Node, dict[str, Problem]] = {}
    for api, found in problems.items():
        for problem in found:
            by_node.setdefault(problem.node, {}).setdefault(api, problem)
    for of_api in by_node.values():
        strong = [problem for problem in of_api.values() if not problem.weak]
        if strong and len(of_api) == len(problems):
            yield max(strong, key=lambda problem: "did you mean" in problem.advice)
