"""The clusters that Strimzi's resources name."""

from pathlib import Path

import pytest

from kgitops.conversion.converting import convert

TOPIC = """apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {{name: {name}, labels: {{strimzi.io/cluster: "{cluster}"}}}}
spec: {{partitions: 1, replicas: 1}}
"""
TEMPLATE = "{{ .Values.cluster }}"


@pytest.mark.parametrize(
    ("clusters", "declared", "lost"),
    [
        (("west", "east", TEMPLATE), [["west"], ["east"], None], [11]),
        (("west", TEMPLATE), [None, None], []),
    ],
    ids=["where several are named", "where one is named"],
)
def test_a_template_in_place_of_a_cluster(
    tmp_path: Path,
    clusters: tuple[str, ...],
    declared: list[list[str] | None],
    lost: list[int],
) -> None:
    """It can't say which of several clusters is meant; of one there is no doubt."""
    (tmp_path / "topics.yaml").write_text(
        "---\n".join(
            TOPIC.format(name=f"t{number}", cluster=cluster)
            for number, cluster in enumerate(clusters)
        )
    )
    conversion = convert(tmp_path, "strimzi", "converted", compacted=False).conversion
    documents = [document for item in conversion.objects for document in item.documents]
    assert [list(document.clusters) or None for document in documents] == declared
    assert [loss.source.line for loss in conversion.losses if loss.source] == lost
