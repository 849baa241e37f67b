"""A registry on real brokers is exported and comes back, also after an import that was cut off."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply.faults import FaultyCluster
from cli.conftest import Kgitops
from cli.projects import acl, topic
from older_registry import make_version_1, versions
from patience import eventually

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.journal import importing
from kgitops.apply.journal.importing import living_values
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.port import Cluster
from kgitops.model.errors import LockedError, UnreachableError
from kgitops.model.registry import Json
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.sandbox.sandbox import Sandbox
from kgitops.workflow.registry_backup import load_export

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


class Died(BaseException):
    """The process died: it writes nothing more, and releases nothing."""


@pytest.mark.parametrize("write", [1, 2, 4])
def test_a_killed_import_is_refused_and_the_next_one_is_whole(
    kafka_cluster: Cluster,
    project: "KafkaProject",
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
    write: int,
) -> None:
    """Its claim stays until the lease has ended, and its open transaction is aborted."""
    project.write(topic("orders"), acl())
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    assert kgitops("registry", "export", "payments", "-o", "registry.json").code == 0
    wanted = own_records(kafka_cluster)
    export = load_export(Path("registry.json"))
    kafka_cluster.registry.append([(key, None) for key in wanted])
    monkeypatch.setattr(importing, "_ATOMIC_RECORDS", 1)
    count = iter(range(100))

    def die(_: object) -> None:
        if next(count) >= write:
            raise Died

    def restore(cluster: Cluster) -> None:
        context = ApplyContext(
            cluster=cluster,
            settings=ApplySettings(lease_ms=4_000, timeout_ms=1_000),
            on_event=lambda _: None,
            interrupted=lambda: None,
        )
        plan = importing.plan_import(
            cluster.registry.scan(),
            export,
            cluster_id=cluster.cluster_id,
            file="registry.json",
            may_replace=True,
        )
        assert importing.import_registry(
            context,
            export,
            plan,
            file="registry.json",
            may_replace=True,
            holder="User:restorer",
            name="import-1",
        )

    with pytest.raises(Died):
        restore(FaultyCluster(kafka_cluster, before_append=die))
    kafka_cluster.registry.unfence()
    half = kgitops("plan", "payments")
    if write > 1:
        assert half.code == 5
        assert "the import did not finish" in half.said
    else:
        assert "2 to adopt" in half.said

    def refusal() -> LockedError | None:
        try:
            restore(kafka_cluster)
        except LockedError as locked:
            return locked
        return None

    eventually(refusal, lambda locked: locked is None, what="the dead import's lease ends")
    assert own_records(kafka_cluster) == wanted
    assert kgitops("plan", "payments", "--detailed-exitcode").code == 0
