"""libyaml's composer, bounded in depth and without PyYAML's tag resolution."""

from collections.abc import Iterator
from typing import Any

import yaml
from yaml._yaml import CParser

MAX_DEPTH = 100
Node = yaml.Node
ScalarNode = yaml.ScalarNode
MappingNode = yaml.MappingNode
SequenceNode = yaml.SequenceNode


class TooDeepError(yaml.MarkedYAMLError):
    """Collections nested deeper than MAX_DEPTH: libyaml would overrun the C stack."""


class Parser(CParser):
    """Composes nodes whose ``tag`` is None unless one was written."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> None:  # noqa: ANN401
        """Leave what a scalar means to :mod:`kgitops.manifests.yaml.scalars`."""

    def descend_resolver(self, parent: Node | None, _index: Any) -> None:  # noqa: ANN401
        """Count the nesting; libyaml calls this before each node."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = parent.start_mark if parent else None
            raise TooDeepError(problem="nested too deeply", problem_mark=mark)

    def ascend_resolver(self) -> None:
        """Count back; libyaml calls this after each node."""
        self.depth -= 1


def compose_all(text: str) -> Iterator[Node]:
    """The root node of each document of ``text``.

    Raises:
        yaml.YAMLError: the text is not YAML from here on.
    """
    parser = Parser(text)
    while parser.check_node():
        node = parser.get_node()
        if node is not None:
            yield node


def is_plain(node: ScalarNode) -> bool:
    """Whether the scalar stands without quotes and without a tag."""
    return not node.style and not node.tag


def is_merge(key: Node) -> bool:
    """Whether a key is YAML's merge, ``<<``."""
    return isinstance(key, ScalarNode) and key.value == "<<" and is_plain(key)
