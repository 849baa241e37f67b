"""Julie: names, plans and the bindings of each grant, as its source makes them."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import ConvertedProject, convert

HEAD = "context: corp\nsource: web\n"
SIZE = '{num.partitions: "2", replication.factor: "1"}'
TOPICS = f"""\
    topics:
      - name: a
        config: {SIZE}
      - name: b
        dataType: avro
        config: {SIZE}
"""
PREFIX = "corp.web.shop."


def converted(tmp_path: Path, **files: str) -> ConvertedProject:
    write(tmp_path, {name.replace("_", "."): text for name, text in files.items()})
    return convert(tmp_path, "julie", "converted", compacted=False)


def bindings(project: ConvertedProject) -> set[str]:
    """``User:x Allow Read topic orders``, ``… topic orders. prefixed``."""
    found = set()
    for item in project.conversion.objects:
        for document in item.documents:
            if document.kind != "Acl":
                continue
            spec = document.spec
            resource = " ".join(str(part) for part in spec["resource"].values())
            found |= {f"{spec['principal']} {word} {resource}" for word in spec["operations"]}
    return found


def granted(tmp_path: Path, grants: str, **files: str) -> set[str]:
    text = f"{HEAD}projects:\n  - name: shop\n{grants}{TOPICS}"
    project = converted(tmp_path, topology_yaml=text, **files)
    assert not project.conversion.losses, project.conversion.losses
    return bindings(project)


GRANTS = {
    "    consumers: [{principal: User:c}]\n": {
        "User:c Describe topic corp.web.shop.a",
        "User:c Read topic corp.web.shop.a",
        "User:c Describe topic corp.web.shop.b.avro",
        "User:c Read topic corp.web.shop.b.avro",
        "User:c Read group *",
    },
    "    consumers: [{principal: User:c, group: g*}]\n": {
        "User:c Describe topic corp.web.shop.a",
        "User:c Read topic corp.web.shop.a",
        "User:c Describe topic corp.web.shop.b.avro",
        "User:c Read topic corp.web.shop.b.avro",
        "User:c Read group g prefixed",
    },
    '    producers: [{principal: User:p, transactionId: t, idempotence: "false"}]\n': {
        "User:p Describe topic corp.web.shop.a",
        "User:p Write topic corp.web.shop.a",
        "User:p Describe topic corp.web.shop.b.avro",
        "User:p Write topic corp.web.shop.b.avro",
        "User:p Describe transactionalId t",
        "User:p Write transactionalId t",
        "User:p IdempotentWrite cluster kafka-cluster",
    },
    "    streams: [{principal: User:s, exactlyOnce: true, topics: {read: [x], write: [y]}}]\n": {
        "User:s Read topic x",
        "User:s Write topic y",
        f"User:s All topic {PREFIX} prefixed",
        f"User:s Read group {PREFIX} prefixed",
        f"User:s Write transactionalId {PREFIX} prefixed",
        f"User:s Describe transactionalId {PREFIX} prefixed",
    },
    "    connectors: {access_control: [{principal: User:k, topics: {read: [x]}}]}\n": {
        *(
            f"User:k {word} topic connect-{name}"
            for word in ("Read", "Write")
            for name in ("status", "offsets", "configs")
        ),
        "User:k Create cluster kafka-cluster",
        "User:k Read group connect-cluster",
        "User:k Read topic x",
    },
    "    ksql: [{principal: User:q, applicationId: app, topics: {write: [x]}}]\n": {
        "User:q Write topic x",
        "User:q All topic app prefixed",
        "User:q All group app prefixed",
    },
}


@pytest.mark.parametrize("grants", GRANTS)
def test_a_grant_is_expanded_as_julie_does(grants: str, tmp_path: Path) -> None:
    assert granted(tmp_path, grants) == GRANTS[grants]


def test_a_topic_s_own_producer_stands_for_the_project_s(tmp_path: Path) -> None:
    text = f"""\
{HEAD}projects:
  - name: shop
    producers: [{{principal: User:p, transactionId: t}}]
    topics:
      - name: a
        config: {SIZE}
        producers: [{{principal: User:p}}]
"""
    project = converted(tmp_path, topology_yaml=text)
    assert bindings(project) == {
        "User:p Describe topic corp.web.shop.a",
        "User:p Write topic corp.web.shop.a",
    }
    assert [loss.problem for loss in project.conversion.losses] == [
        "producer User:p is granted nothing"
    ]


def test_the_configuration_file_decides_on_names_and_prefixed_bindings(tmp_path: Path) -> None:
    properties = (
        "bootstrap.servers=k:9092\n"
        "topology.acls.optimized=true\n"
        "topology.topic.prefix.separator=_\n"
    )
    found = granted(
        tmp_path, "    consumers: [{principal: User:c, group: g}]\n", julie_properties=properties
    )
    assert found == {
        "User:c Describe topic corp_web_shop_ prefixed",
        "User:c Read topic corp_web_shop_ prefixed",
        "User:c Read group g",
    }


def test_a_format_of_names_is_filled_in_or_told(tmp_path: Path) -> None:
    text = f"{HEAD}projects:\n  - name: shop\n{TOPICS}"
    known = "topology.topic.prefix.format={{source}}-{{ context }}-{{topic}}\n"
    project = converted(tmp_path / "1", topology_yaml=text, julie_properties=known)
    names = {document.name for item in project.conversion.objects for document in item.documents}
    assert names == {"web-corp-a", "web-corp-b"}
    unknown = known.replace("source", "team")
    project = converted(tmp_path / "2", topology_yaml=text, julie_properties=unknown)
    assert "'{{team}}-corp-a', is a template" in project.conversion.losses[0].problem


FORMATS = (
    "topology.project.prefix.format={{team}}-{{project}}.\n"
    "topology.topic.prefix.format={{team}}-{{project}}.{{topic}}\n"
)
BY_PREFIX = {
    "streams": "    streams: [{principal: User:s, topics: {read: [x], write: [y]}}]\n",
    "ksql": "    ksql: [{principal: User:s, topics: {read: [x]}}]\n",
    "optimized": "    consumers: [{principal: User:s}]\n",
}


@pytest.mark.parametrize("kind", BY_PREFIX)
def test_a_template_in_a_project_s_prefix_grants_nothing_and_is_told(
    kind: str, tmp_path: Path
) -> None:
    text = f"{HEAD}projects:\n  - name: shop\n{BY_PREFIX[kind]}    topics: []\n"
    optimized = "topology.acls.optimized=true\n" if kind == "optimized" else ""
    project = converted(tmp_path, topology_yaml=text, julie_properties=FORMATS + optimized)
    assert bindings(project) == set()
    (loss,) = project.conversion.losses
    assert loss.source.line == len(HEAD.splitlines()) + 3
    assert "the prefix of its project, '{{team}}-shop.', is a template" in loss.problem
    known = text.replace("context: corp\n", "context: corp\nteam: red\n")
    again = converted(tmp_path, topology_yaml=known, julie_properties=FORMATS + optimized)
    assert any("red-shop." in binding for binding in bindings(again))
    assert not again.conversion.losses


@pytest.mark.parametrize(("pattern", "name"), [("default", "corp.web.shop.a"), ("name", "a")])
def test_a_format_with_a_name_is_no_template(pattern: str, name: str, tmp_path: Path) -> None:
    text = f"{HEAD}projects:\n  - name: shop\n{TOPICS}"
    properties = f"topology.topic.prefix.format={pattern}\n"
    project = converted(tmp_path, topology_yaml=text, julie_properties=properties)
    names = {document.name for item in project.conversion.objects for document in item.documents}
    assert name in names


SETTINGS = """\
bootstrap.servers=k:9092
security.protocol=SSL
ssl.endpoint.identification.algorithm=
topology.topic.managed.prefixes.0=corp.
topology.builder.access.control.class=com.purbon.kafka.topology.roles.RBACProvider
topology.validations.0=topology.validation.topic.X
schema.registry.url=http://sr:8081
ccloud.environment=env-1
julie.unheard.of=1
ssl.truststore.password=secret
allow.delete.topics=true
julie.audit.enabled=true
"""


def test_each_property_is_a_setting_or_harmless_or_told_at_its_line(tmp_path: Path) -> None:
    text = f"{HEAD}projects:\n  - name: shop\n{TOPICS}"
    project = converted(tmp_path, topology_yaml=text, julie_properties=SETTINGS)
    assert [loss.source.line for loss in project.conversion.losses] == [4, 5, 6, 7, 8, 9, 10]
    assert not any("secret'" in loss.problem for loss in project.conversion.losses)
    (cluster,) = project.conversion.clusters
    assert cluster.configs == {
        "security.protocol": "SSL",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_second_file_of_settings_is_told(tmp_path: Path) -> None:
    text = f"{HEAD}projects:\n  - name: shop\n{TOPICS}"
    project = converted(
        tmp_path, topology_yaml=text, a_properties="topology.acls.optimized=true\n",
        b_properties="topology.acls.optimized=false\n",
    )  # fmt: skip
    (loss,) = project.conversion.losses
    assert "b.properties is not read" in loss.problem


def test_a_role_s_resource_that_is_a_template_is_told(tmp_path: Path) -> None:
    roles = """\
roles:
  - name: app
    acls:
      - {resourceType: Topic, resourceName: "{{ team }}.x", patternType: PREFIXED, host: "*",
         operation: READ}
"""
    text = f"{HEAD}projects:\n  - name: shop\n    app: [{{principal: User:x}}]\n{TOPICS}"
    project = converted(tmp_path, topology_yaml=text, roles_yaml=roles)
    assert bindings(project) == set()
    assert "'{{ team }}.x' of its role is not known here" in project.conversion.losses[0].problem


def test_plans_become_profiles(tmp_path: Path) -> None:
    plans = "plans: {gold: {alias: gold, config: {num.partitions: 6, retention.ms: 1000}}}\n"
    topology = f"""\
{HEAD}projects:
  - name: shop
    topics:
      - {{name: a, plan: gold, config: {{replication.factor: 3}}}}
      - {{name: b, plan: lead, config: {SIZE}}}
"""
    project = converted(tmp_path, plans_yaml=plans, topology_yaml=topology)
    found = {
        document.name: (document.kind, document.spec)
        for item in project.conversion.objects
        for document in item.documents
    }
    assert found == {
        "gold": ("TopicProfile", {"partitions": 6, "configs": {"retention.ms": 1000}}),
        "corp.web.shop.a": ("Topic", {"profile": "gold", "replicationFactor": 3}),
    }
    (loss,) = project.conversion.losses
    assert "the plan lead is in no plans file among the files" in loss.problem


def test_own_roles_are_expanded(tmp_path: Path) -> None:
    roles = """\
roles:
  - name: app
    acls:
      - {resourceType: Topic, resourceName: "{{topic}}", patternType: PREFIXED, host: "*",
         operation: ALL, permissionType: ALLOW}
      - {resourceType: Group, resourceName: "{{group}}", patternType: LITERAL, host: "*",
         operation: READ, permissionType: DENY}
"""
    found = granted(tmp_path, "    app: [{principal: User:x, topic: t}]\n", roles_yaml=roles)
    assert found == {"User:x All topic t prefixed", "User:x Read group *"}


def test_a_platform_s_servers_and_quotas(tmp_path: Path) -> None:
    text = f"""\
{HEAD}platform:
  kafka:
    quotas: [{{principal: "User:a", producer_byte_rate: 1024}}, {{request_percentage: 50.5}}]
  schema_registry: {{instances: [{{principal: User:r}}]}}
  control_center: {{instances: [{{principal: User:c, appId: app}}]}}
  ksql: {{instances: [{{principal: User:q, ksqlDbId: k1}}]}}
"""
    project = converted(tmp_path, topology_yaml=text)
    assert not project.conversion.losses
    quotas = [
        (document.spec["entity"], document.spec["quotas"])
        for item in project.conversion.objects
        for document in item.documents
        if document.kind == "ClientQuota"
    ]
    assert quotas == [
        ({"user": "User:a"}, {"producer_byte_rate": 1024}),
        ({"user": {"default": True}}, {"request_percentage": 50.5}),
    ]
    found = bindings(project)
    assert "User:r DescribeConfigs topic _schemas" in found
    assert "User:r Describe topic __consumer_offsets" in found
    assert "User:c Read group app-command prefixed" in found
    assert "User:c DescribeConfigs cluster kafka-cluster" in found
    assert "User:q All topic k1ksql_processing_log" in found
    assert len(found) == 7 + 22 + 4
