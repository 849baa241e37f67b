"""Julie's topologies: projects with topics, grants, quotas; and its plans and roles."""

from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import Struct

from kgitops.conversion.acls import declare_acls
from kgitops.conversion.objects import Conversion, ConvertedFile, SourceObject
from kgitops.conversion.quotas import DEFAULT, declare_quota
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    converted_file,
    documents_of,
    lost_document,
    read_yaml_files,
)
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.tools.julie_naming import (
    Naming,
    Shared,
    is_plans,
    is_roles,
    plan_name,
    read_shared,
    role_entries,
    settings_cluster,
    settings_object,
    topic_name_or_loss,
)
from kgitops.conversion.tools.julie_roles import (
    OF_PLATFORM,
    OF_PROJECT,
    ON_TOPICS,
    Expand,
    GrantedTopics,
    own_role,
)
from kgitops.conversion.topics import TopicSource, declare_topic, topic_spec

_SIZES = {"num.partitions": "partitions", "replication.factor": "replicationFactor"}
_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
# Not of Kafka's brokers, so nothing of them can be declared.
_ELSEWHERE = {
    "schemas": "schemas are a schema registry's",
    "rbac": "role bindings are Confluent's RBAC",
    "artefacts": "connectors and queries are not of Kafka's brokers",
}


def count(folder: SourceFolder) -> int:
    """The number of topologies."""
    return sum(map(_is_topology, documents_of(read_yaml_files(folder, Dialect.CAUTIOUS))))


def convert(folder: SourceFolder) -> Conversion:
    """Read all topologies, plans and roles; other documents are lost."""
    files = read_yaml_files(folder, Dialect.CAUTIOUS)
    shared = read_shared(folder, documents_of(files))
    converted = [converted_file(file, _objects(file, shared)) for file in files]
    if shared.settings.file:
        objects = (settings_object(shared.settings),)
        converted.append(ConvertedFile(path="settings", objects=objects))
    cluster = settings_cluster(shared.settings)
    return Conversion(
        tool="julie", files=tuple(converted), clusters=(cluster,) if cluster is not None else ()
    )


def _is_topology(document: Value) -> bool:
    entries = dict(document.entries())
    return "context" in entries and bool({"projects", "platform", "special_topics"} & set(entries))


def _objects(file: YamlFile, shared: Shared) -> Iterator[SourceObject]:
    for document in file.documents:
        if is_plans(document):
            for label, plan in Fields(document, []).fields("plans").entries():
                yield _plan(label, plan)
        elif is_roles(document):
            yield from map(_role, role_entries(document))
        elif _is_topology(document):
            yield from _Topology(file.file.path, document, shared).objects()
        else:
            problem = "the document is no topology with a context, nor plans or roles"
            yield lost_document(document, problem, "convert it by hand")


def _plan(label: str, value: Value) -> SourceObject:
    builder = ObjectBuilder("plan", label, value)
    fields = builder.fields()
    fields.skip("alias")
    spec = topic_spec(builder, _topic_source(fields.fields("config"), complete=False))
    fields.lose_rest(str(builder))
    if spec:
        builder.declare("TopicProfile", plan_name(label), spec)
    else:
        builder.becomes_settings("nothing: it sets no config")
    return builder.build()


def _role(value: Value) -> SourceObject:
    builder = ObjectBuilder("role", Fields(value, []).text("name") or "", value)
    builder.becomes_settings("the ACLs of those that have it")
    return builder.build([])


def _topic_source(config: Fields, *, profile: str | None = None, complete: bool) -> TopicSource:
    return TopicSource(
        partitions=config.integer("num.partitions"),
        replication_factor=config.integer("replication.factor"),
        configs=dict(config.entries()),
        profile=profile,
        complete=complete,
    )


class _Entry(Struct, frozen=True):
    """An entry of a list of grants; ``expand`` gives the bindings that it grants."""

    kind: str
    value: Value
    expand: Expand


class _Topology:
    """One topology: what the names of its topics begin with, and its objects."""

    def __init__(self, path: str, document: Value, shared: Shared) -> None:
        self.document = document
        self.shared = shared
        self.builder = ObjectBuilder("topology", path, document)
        self.root = self.builder.fields()
        parts: dict[str, str] = {}
        for key, _ in document.entries():
            if key not in ("projects", "platform", "special_topics"):
                parts[key] = self.root.text(key) or ""
        self.naming = Naming(parts=parts, settings=shared.settings)

    def objects(self) -> Iterator[SourceObject]:
        """All of its objects, and the topology itself."""
        if template := self.naming.unresolved:
            problem = f"its names begin with the template {template!r}, whose value is not known"
            advice = "convert what the template tool makes of it"
            yield lost_document(self.document, problem, advice)
            return
        if self.shared.settings.is_set("topology.dlq.topics.generate"):
            self.builder.lose(
                self.document,
                "the dead letter topics that Julie makes for each topic are left out",
                "declare them as Topics",
            )
        for project in self.root.items("projects"):
            yield from self._project(project)
        for topic in self.root.items("special_topics"):
            name = Fields(topic, []).text("name")
            yield self._topic(ObjectBuilder("topic", name or "", topic), name)
            yield from self._grants_of_topic(topic, name)
        yield from self._platform(self.root.fields("platform"))
        self.root.lose_rest("the topology")
        self.builder.becomes_settings("the names of its topics")
        yield self.builder.build([])

    def _project(self, value: Value) -> Iterator[SourceObject]:
        fields = Fields(value, self.builder.losses)
        name = fields.text("name")
        if not name:
            problem, advice = "the project has no name", "name it there"
            yield ObjectBuilder("project", "", value).refuse(problem, advice)
            return
        topics = [
            ObjectBuilder("topic", Fields(item, []).text("name") or "", item)
            for item in fields.items("topics")
        ]
        full = [topic_name_or_loss(topic, self.naming, name) for topic in topics]
        for topic, topic_name in zip(topics, full, strict=True):
            topic.name = topic_name or topic.name
            yield self._topic(topic, topic_name)
            yield from self._grants_of_topic(topic.value, topic_name)
        prefix = self.naming.prefix(name)
        named = {item: topic.value for topic, item in zip(topics, full, strict=True) if item}
        for entry in self._entries(fields):
            scope = GrantedTopics(
                topics=tuple(_without_own(entry, named)),
                prefix=prefix,
                prefixed=self.shared.settings.is_set("topology.acls.optimized"),
                settings=self.shared.settings,
            )
            yield _granted(entry, scope)
        for kind, reason in _ELSEWHERE.items():
            for item in fields.items(kind):
                yield ObjectBuilder(kind, "", item).refuse(reason, "keep it where it is")
        fields.skip("zookeepers")
        for key, others in fields.entries():
            for item in others.items():
                yield self._own_role(key, item)
            if not others.is_list():
                problem, advice = f"{key} is no list of grants", "it is left out"
                yield ObjectBuilder(key, name, others).refuse(problem, advice)

    def _entries(self, fields: Fields) -> Iterator[_Entry]:
        """The grants of a project; connectors and ksql may have theirs below access_control."""
        for key, expand in {**ON_TOPICS, **OF_PROJECT}.items():
            value = fields.take(key)
            if value is None:
                continue
            items = value.items()
            if value.is_mapping():
                inner = Fields(value, self.builder.losses)
                items = inner.items("access_control")
                inner.lose_rest(key)
            elif not value.is_list():
                problem = f"{key} is {value.shown}, not a list"
                self.builder.lose(value, problem, "correct it there")
            yield from (_Entry(key.removesuffix("s"), item, expand) for item in items)

    def _own_role(self, key: str, value: Value) -> SourceObject:
        role = self.shared.roles.get(key)
        if role is None:
            return ObjectBuilder(key, "", value).refuse(
                "no roles file among the files has this role", "convert the file together with it"
            )
        scope = GrantedTopics(settings=self.shared.settings)
        return _granted(_Entry(key, value, partial(own_role, role)), scope)

    def _grants_of_topic(self, topic: Value, name: str | None) -> Iterator[SourceObject]:
        fields = Fields(topic, [])
        scope = GrantedTopics(topics=(name,) if name else (), settings=self.shared.settings)
        for key, expand in ON_TOPICS.items():
            for item in fields.items(key):
                yield _granted(_Entry(key.removesuffix("s"), item, expand), scope)

    def _topic(self, builder: ObjectBuilder, name: str | None) -> SourceObject:
        fields = builder.fields()
        fields.skip("name", "dataType", *ON_TOPICS)
        label = fields.text("plan")
        plan = self.shared.plans.get(label or "")
        config = fields.fields("config")
        inherited = Fields(plan, []).fields("config") if plan else Fields(None, [])
        sized = all(key in config or key in inherited for key in _SIZES)
        profile = plan_name(label) if label and sized else None
        source = _topic_source(config, profile=profile, complete=True)
        labels = fields.texts("metadata")
        for key in ("schemas", "subject.name.strategy"):
            value = fields.take(key)
            if value is not None:
                builder.lose(value, f"{builder}: {key} is a schema registry's", "keep it there")
        fields.lose_rest(str(builder))
        if label and plan is None:
            builder.lose(
                builder.value,
                f"{builder}: the plan {label} is in no plans file among the files",
                "convert the file together with it",
            )
        elif name:
            builder.label(labels)
            declare_topic(builder, name, source)
        parts = [item for key, item in builder.value.entries() if key not in ON_TOPICS]
        return builder.build(parts)

    def _platform(self, platform: Fields) -> Iterator[SourceObject]:
        scope = GrantedTopics(settings=self.shared.settings)
        for key, expand in OF_PLATFORM.items():
            server = platform.fields(key)
            for item in server.items("instances"):
                yield _granted(_Entry(key, item, expand), scope)
            for kind, others in server.entries():
                for item in others.items() or [others]:
                    problem, advice = f"{kind} of {key}: {_ELSEWHERE['rbac']}", "keep it there"
                    yield ObjectBuilder(kind, "", item).refuse(problem, advice)
        kafka = platform.fields("kafka")
        yield from map(_quota, kafka.items("quotas"))
        for rest, of in ((kafka, "platform.kafka"), (platform, "platform")):
            for key, value in rest.entries():
                self.builder.lose(value, f"{key} of {of} has no counterpart", "it is left out")


def _without_own(entry: _Entry, topics: dict[str, Value]) -> Iterable[str]:
    """The topics of a project that have no producer of their own with the entry's principal."""
    principal = Fields(entry.value, []).text("principal")
    for name, topic in topics.items():
        own = Fields(topic, []).items("producers") if entry.kind == "producer" else []
        if principal not in {Fields(item, []).text("principal") for item in own}:
            yield name


def _granted(entry: _Entry, scope: GrantedTopics) -> SourceObject:
    principal = Fields(entry.value, []).text("principal")
    builder = ObjectBuilder(entry.kind, principal or "", entry.value)
    fields = builder.fields()
    fields.skip("principal", "metadata")
    if not principal:
        return builder.refuse("it has no principal", "write it there")
    acls = entry.expand(principal, builder, fields, scope)
    fields.lose_rest(str(builder))
    declare_acls(builder, acls)
    builder.lose_if_empty(acls, "is granted nothing")
    return builder.build()


def _quota(value: Value) -> SourceObject:
    builder = ObjectBuilder("quota", Fields(value, []).text("principal") or "", value)
    fields = builder.fields()
    fields.skip("principal")
    quotas = {key: item for key in _QUOTAS if (item := fields.take(key)) is not None}
    fields.lose_rest(str(builder))
    # The user is called as it is written: Julie does not take `User:` off.
    declare_quota(builder, {"user": builder.name or DEFAULT}, quotas)
    return builder.build()
