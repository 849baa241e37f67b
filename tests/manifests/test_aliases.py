"""Aliases and << may add as many values as the document is long, and never much work."""

from pathlib import Path
from time import process_time

import pytest
from manifests.loading import findings, load, topic, write

HEAD = "apiVersion: kgitops/v1\nkind: TopicList\nspec:\n  items:\n"
SPEC = "{partitions: 1, replicationFactor: 1, configs: {retention.ms: 1, segment.ms: 1}}"
MANY = 4000
LIFTED = ", ".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 3000))


def items(spec: str, first: str = "") -> str:
    return f"{HEAD}{first}" + "".join(f"    t{n}: {spec}\n" for n in range(MANY))


@pytest.mark.parametrize(
    "text",
    [
        items(SPEC, "    # R&D\n"),
        items("*size", f"    first: &size {SPEC}\n"),
        items("{<<: *size, partitions: 2}", f"    first: &size {SPEC}\n"),
        items(f"{{<<: {SPEC}}}"),
    ],
    ids=["a sign", "aliases", "merges", "merges without aliases"],
)
def test_a_long_list_may_have_aliases(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": text})
    loaded = load(tmp_path)
    assert not loaded.findings
    assert {it.declares.spec.configs["segment.ms"] for it in loaded.manifests} == {1}  # type: ignore[union-attr,index]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: 0}}\n" for n in range(1, 3000)),
        "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 3000)),
        f"a: &a [{'x, ' * 5000}]\nb: [{'*a, ' * 5000}]\n",
        f"r: {{<<: {{{LIFTED}}}, first: *a2999}}\n",
    ],
    ids=["of merges", "of lists", "of a long list", "of depth, used before it is merged"],
)
def test_a_bomb_is_found_quickly(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": f"a0: &a0 {{k0: 0}}\n{text}"})
    begin = process_time()
    (said,) = findings(load(tmp_path))
    assert process_time() - begin < 5
    assert "the aliases of this document stand for more than" in said


def test_a_few_aliases_are_no_bomb(tmp_path: Path) -> None:
    configs = "configs: &c {retention.ms: 1}"
    text = topic("a", f"{{partitions: 1, replicationFactor: 1, {configs}}}")
    write(tmp_path, {"a.yaml": text + "x: *c\n"})
    (said,) = findings(load(tmp_path))
    assert "x is not a field of Topic" in said
