"""Every file of other tools that lies beside the repository is converted, or told why not."""

from pathlib import Path

import pytest
from conversion.corpus import TOOLS, files_of, simple_topics

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.objects import DeclaredDocument

FILES = [
    pytest.param(tool, file, id=f"{tool}-{file.name.lstrip('.')}")
    for tool in TOOLS
    for file in files_of(tool)
]

if FILES:

    def converted(tool: str, file: Path) -> ConvertedProject:
        return convert(file, tool, "converted", compacted=False)

    @pytest.mark.parametrize(("tool", "file"), FILES)
    def test_no_object_is_lost_in_silence(tool: str, file: Path) -> None:
        project = converted(tool, file)
        for item in project.conversion.objects:
            became = bool(item.documents) or bool(item.settings) or item.same_as is not None
            conflict = any(finding.source == item.source for finding in project.findings)
            assert became or item.losses or conflict, item

    @pytest.mark.parametrize(("tool", "file"), FILES)
    def test_topics_are_those_of_a_second_reading(tool: str, file: Path) -> None:
        """A topic that a plain YAML loader sees is declared with its size, or told of."""
        expected = simple_topics(tool, file)
        if expected is None:
            return  # templates, which are losses
        project = converted(tool, file)
        declared = {
            document.name: document
            for item in project.conversion.objects
            for document in item.documents
            if document.kind == "Topic"
        }
        told = " ".join(
            [loss.problem for loss in project.conversion.losses]
            + [finding.problem for finding in project.findings]
        )
        for name, size in expected.items():
            if name in declared:
                assert size_of(declared[name]) == size or "declared differently" in told
            else:
                assert str(name) in told, name
        assert set(declared) <= set(expected)

    def size_of(document: DeclaredDocument) -> tuple[int | None, int | None]:
        rows = document.spec.get("assignments")
        if rows:
            return len(rows), len(rows[0])
        return document.spec.get("partitions"), document.spec.get("replicationFactor")
