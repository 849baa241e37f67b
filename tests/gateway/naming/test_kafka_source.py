"""Which clusters names are read from, and what an error of theirs shows."""

from pathlib import Path

import pytest

from kgitops.gateway.naming.kafka_source import KafkaSource
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.workflow.project.clusters import ChosenCluster, choose_cluster


def test_errors_hide_what_came_from_the_environment(tmp_path: Path) -> None:
    """A follower's error is shown to people for hours."""
    secret = str(tmp_path / "sesame")
    cluster = ChosenCluster(
        name="kafka",
        url="kafka://127.0.0.1:1",
        base=tmp_path,
        configs={"security.protocol": "SSL", "ssl.ca.location": secret},
        env_values={secret: "CA_FILE"},
    )
    with pytest.raises(KgitopsError) as error:
        KafkaSource(cluster)
    assert "sesame" not in str(error.value)


def test_an_embedded_cluster_needs_no_gateway() -> None:
    """Its virtual clusters are its own."""
    with pytest.raises(UsageError, match="knows virtual clusters itself"):
        KafkaSource(choose_cluster("embedded:", None, None, {}))
