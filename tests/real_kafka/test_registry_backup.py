"""A registry on real brokers is exported and comes back, also after an import that was cut off."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import acl, topic
from older_registry import make_version_1, versions

from kgitops.apply.journal import importing
from kgitops.apply.journal.export_file import living_values
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.port import Cluster
from kgitops.model.errors import UnreachableError
from kgitops.model.registry import Json
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka


def own_records(cluster: Cluster) -> dict[str, Json]:
    """Every living record of who owns what."""
    values = living_values(cluster.registry.scan() or ())
    return {key: value for key, value in values.items() if key.startswith(("own/", "project/"))}


def delete_registry(kafka: Sandbox) -> None:
    """As an administrator who begins anew."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": kafka.servers, **kafka.configs})
    admin.delete_topics([REGISTRY_TOPIC])[REGISTRY_TOPIC].result(60)


def test_a_deleted_registry_comes_back(
    kafka: Sandbox, project: "KafkaProject", kgitops: Kgitops
) -> None:
    project.write(topic("orders"), acl())
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    assert kgitops("registry", "export", "payments", "-o", "registry.json").code == 0
    delete_registry(kafka)
    assert "2 to adopt" in kgitops("plan", "payments").said
    ran = kgitops("registry", "import", "registry.json", "payments", "--auto-approve")
    assert ran.code == 0, ran
    assert kgitops("registry", "check", "payments").code == 0
    assert kgitops("plan", "payments", "--detailed-exitcode").code == 0


def test_an_import_that_was_cut_off_is_refused_until_it_is_done_and_leads_back_to_version_1(
    kafka_cluster: Cluster,
    project: "KafkaProject",
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.write(topic("orders"), acl())
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    make_version_1(kafka_cluster.registry)
    assert kgitops("registry", "export", "payments", "-o", "registry.json").code == 0
    wanted = own_records(kafka_cluster)
    project.write(topic("orders"), topic("audit"), topic("late"))
    assert kgitops("apply", "payments", "--auto-approve", "--allow-deletes", "Acl=1").code == 0
    assert versions(kafka_cluster.registry.read())["meta"] == 2

    append, writes = KafkaRegistryLog.append, iter(range(100))

    def cut_off(
        log: KafkaRegistryLog, entries: Sequence[tuple[str, Mapping[str, Json] | None]]
    ) -> int:
        if next(writes) == 3:
            raise UnreachableError("the brokers are gone")
        return append(log, entries)

    words = ("registry", "import", "registry.json", "payments", "--replace", "--auto-approve")
    with monkeypatch.context() as patch:
        patch.setattr(importing, "_ATOMIC_RECORDS", 1)
        patch.setattr(KafkaRegistryLog, "append", cut_off)
        assert kgitops(*words).code == 8
    refused = kgitops("plan", "payments")
    assert refused.code == 5
    assert "run kgitops registry import FILE --replace again, with the same file" in refused.said
    assert kgitops("apply", "payments", "--auto-approve").code == 5
    checked = kgitops("registry", "check", "payments")
    assert (checked.code, "the import did not finish" in checked.said) == (5, True)

    done = kgitops(*words)
    assert done.code == 0, done
    assert "An import of this registry was cut off" in done.out
    assert set(versions(kafka_cluster.registry.read()).values()) == {1}
    assert own_records(kafka_cluster) == wanted
    plan = json.loads(kgitops("plan", "payments", "--format", "json").out)
    actions = {change["address"]: change["actions"] for change in plan["changes"]}
    assert actions["topic/late"] == actions["topic/audit"] == ["adopt"]
