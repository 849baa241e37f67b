"""Each text of every kind of document is a name, but those that its model marks as free text."""

import textwrap
from collections.abc import Iterator, Mapping

import pytest
import yaml

from kgitops.desired.declared_names import names_in
from kgitops.manifests.kind_models import KINDS, adapter, model

Path = tuple[str | int, ...]

FREE_TEXT: Mapping[str, set[Path]] = {
    "User": {
        ("spec", "scram", 0, "password", "env"),
        ("spec", "scram", 0, "version"),
    },
    "ConsumerGroup": {("spec", "resetOffsets", "version")},
    "Tombstone": {("spec", "reason")},
    "Policy": {
        ("spec", "description"),
        ("spec", "remediation"),
        ("spec", "variables", 0, "expression"),
        ("spec", "validations", 0, "expression"),
        ("spec", "validations", 0, "messageExpression"),
    },
    "Waiver": {("spec", "reason")},
}
"""Where the example of each kind has text that is no name."""


def texts(content: object, path: Path = ()) -> Iterator[Path]:
    """The path of each text below ``content``, as YAML has it."""
    if isinstance(content, str):
        yield path
    elif isinstance(content, dict):
        for key, item in content.items():
            yield from texts(item, (*path, key))
    elif isinstance(content, list):
        for index, item in enumerate(content):
            yield from texts(item, (*path, index))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("Project", "PolicyTest")])
def test_every_text_is_a_name_or_marked(kind: str) -> None:
    """A kind or field that is added has its names looked at, or is listed above."""
    example = textwrap.dedent((model(kind).__doc__ or "").partition("Example:\n")[2])
    content = yaml.safe_load(example)
    names = {path for path, _ in names_in(adapter(kind).validate_python(content))}
    within = {path[:length] for path in names for length in range(len(path) + 1)}
    assert {path for path in texts(content) if path not in within} == FREE_TEXT.get(kind, set())
