"""1,114 topics and 451 ACL rules of real teams: what is refused is refused for a true reason.

The counts are those of docs/internals/real-fleet.md.
"""

from collections import Counter
from pathlib import Path

import pytest
from manifests.loading import build, load
from manifests.real_fleet import FLEET, write_corrected

from kgitops.manifests.load import ManifestSet
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredAcl, DesiredTopic
from kgitops.model.source import Finding, Severity

REFUSED = {
    "message.timestamp.difference.max.ms": 104,
    "message.format.version": 2,
    "message.downconversion.enable": 2,
}
THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def refused(fleet: ManifestSet, allow_configs: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    with pytest.raises(FindingsError) as caught:
        build(fleet, allow_configs=allow_configs)
    return tuple(caught.value.findings)


if FLEET.is_dir():

    @pytest.fixture(scope="module")
    def fleet() -> ManifestSet:
        return load(FLEET)

    def test_only_configs_that_kafka_4_removed_and_throttles_are_refused(
        fleet: ManifestSet,
    ) -> None:
        """Each on the line of its config."""
        assert len(fleet.manifests) == 1565
        findings = refused(fleet)
        reasons = Counter(finding.problem for finding in findings)
        assert reasons == {
            **{f"Kafka 4 has no topic config {key} any more": n for key, n in REFUSED.items()},
            **{
                f"{key} is set and removed while replicas are moved, so it can't be declared": 2
                for key in THROTTLES
            },
        }
        assert all(finding.severity is Severity.ERROR for finding in findings)
        for finding in findings:
            assert finding.source is not None
            text = Path(finding.source.file).read_text(encoding="utf-8")
            line = text.splitlines()[finding.source.line - 1]
            key = finding.problem.removeprefix("Kafka 4 has no topic config ").split()[0]
            assert line[finding.source.column - 1 :].startswith(f"{key}:")

    def test_without_those_lines_the_whole_fleet_is_desired(
        fleet: ManifestSet, tmp_path: Path
    ) -> None:
        write_corrected(tmp_path, refused(fleet))
        state = build(load(tmp_path))
        assert (len(state.of(DesiredTopic)), len(state.of(DesiredAcl))) == (1114, 451)
        assert not state.warnings

    def test_a_project_for_an_older_kafka_may_let_them_through(fleet: ManifestSet) -> None:
        """But for throttles, which two of them declare."""
        findings = refused(fleet, allow_configs=("message.*",))
        assert {finding.problem.split()[0] for finding in findings} == {*THROTTLES}
        assert len(findings) == 4
