"""Julie's topologies: projects with topics, grants, quotas; and its plans and roles."""

from collections.abc import Iterable, Iterator, Mapping
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
from kgitops.conversion.reading.keys import (
    KeyedFields,
    Keys,
    declared,
    harmless,
    lost,
    same,
    setting,
)
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.conversion.tools.julie_naming import (
    Naming,
    Shared,
    is_plans,
    is_roles,
    plan_entries,
    plan_name,
    read_shared,
    role_entries,
    topic_name_or_loss,
)
from kgitops.conversion.tools.julie_roles import (
    OF_PLATFORM,
    OF_PROJECT,
    ON_TOPICS,
    OWN_ROLE,
    ROLE_ACL,
    GrantedTopics,
    GrantList,
    own_role,
)
from kgitops.conversion.tools.julie_settings import settings_cluster, settings_object
from kgitops.conversion.topics import TopicSource, declare_topic, topic_spec

_SIZES = {"num.partitions": "partitions", "replication.factor": "replicationFactor"}
_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
# Not of Kafka's brokers, so nothing of them can be declared.
_ELSEWHERE = {
    "schemas": "schemas are a schema registry's",
    "rbac": "role bindings are Confluent's RBAC",
    "artefacts": "connectors and queries are not of Kafka's brokers",
}
_REGISTRYS = lost("it is a schema registry's", "keep it there")
_ARTEFACTS = lost(_ELSEWHERE["artefacts"], "keep it where it is")
_GRANTS = {key: declared(grant.keys) for key, grant in ON_TOPICS.items()}
_TOPIC: Keys = {
    **same(declared(), "name", "dataType", "plan", "config", "metadata"),
    **same(_REGISTRYS, "schemas", "subject.name.strategy"),
    **_GRANTS,
}
_SPECIAL_TOPIC: Keys = {
    **_TOPIC,
    "dataType": harmless("a special topic has the name that is written, and no more"),
}
# Where a list of grants may be, a mapping may have it.
_SYSTEM: Keys = {
    "access_control": declared(),
    **same(_ARTEFACTS, "artefacts", "artifacts", "streams", "tables", "vars"),
}
_PROJECT: Keys = {
    "name": declared(),
    "topics": declared(_TOPIC),
    **_GRANTS,
    **{key: declared({**grant.keys, **_SYSTEM}) for key, grant in OF_PROJECT.items()},
    **same(declared(), *_ELSEWHERE),
    "zookeepers": harmless("Julie does not read it"),
    "*": declared(OWN_ROLE),
}
_QUOTA: Keys = same(declared(), "principal", *_QUOTAS)
_PLAN: Keys = {"alias": harmless("Julie does not read it"), "config": declared()}
_ROLE: Keys = {
    "name": setting("the ACLs of those that have it"),
    "acls": setting("the ACLs of those that have it", ROLE_ACL),
}
_SERVERS = {
    key: declared({"instances": declared(grant.keys), "rbac": declared()})
    for key, grant in OF_PLATFORM.items()
}
_PLATFORM: Keys = {
    "kafka": declared(
        {
            "quotas": declared(_QUOTA),
            "rbac": declared(),
            "instances": lost("Julie makes nothing of it", "write an Acl by hand"),
        }
    ),
    "kafka_connect": declared({"rbac": declared()}),
    **_SERVERS,
}
TABLES: Mapping[str, Keys] = {
    "topology": {
        "projects": declared(_PROJECT),
        "platform": declared(_PLATFORM),
        "special_topics": declared(_SPECIAL_TOPIC),
        "*": setting("the names of its topics"),
    },
    "plans": {"plans": declared({"*": declared(_PLAN)})},
    "roles": {"roles": declared(_ROLE)},
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
            for label, plan in plan_entries(document):
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
    spec = topic_spec(builder, _topic_source(builder.read(_PLAN), complete=False))
    if spec:
        builder.declare("TopicProfile", plan_name(label), spec)
    else:
        builder.becomes_settings("nothing: it sets no config")
    return builder.build()


def _role(value: Value) -> SourceObject:
    builder = ObjectBuilder("role", value.text_at("name") or "", value)
    fields = builder.read(_ROLE)
    fields.take("name")
    for acl in fields.mappings("acls", "an ACL"):
        acl.take("operation", "role")
        acl.take_all()  # each grant of the role looks at them
    builder.becomes_settings("the ACLs of those that have it")
    return builder.build([])


def _topic_source(
    fields: KeyedFields, *, profile: str | None = None, complete: bool
) -> TopicSource:
    """The size and configs under ``config``."""
    configs = dict(fields.entries("config"))
    sizes = {}
    for key, name in _SIZES.items():
        value = configs.pop(key, None)
        sizes[name] = value.integer() if value is not None else None
        if value is not None and sizes[name] is None:
            fields.lose(value, f"{key} is {value.shown}, not a number", "correct it there")
    return TopicSource(
        partitions=sizes["partitions"],
        replication_factor=sizes["replicationFactor"],
        configs=configs,
        profile=profile,
        complete=complete,
    )


class _Entry(Struct, frozen=True):
    """An entry of a list of grants."""

    kind: str
    value: Value
    grant: GrantList


class _Topology:
    """One topology: what the names of its topics begin with, and its objects."""

    def __init__(self, path: str, document: Value, shared: Shared) -> None:
        self.document = document
        self.shared = shared
        self.builder = ObjectBuilder("topology", path, document)
        self.root = self.builder.read(TABLES["topology"], of="the topology")
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
            name = topic.text_at("name")
            yield self._topic(ObjectBuilder("topic", name or "", topic), name, _SPECIAL_TOPIC)
            yield from self._grants_of_topic(topic, name)
        yield from self._platform(self.root.fields("platform"))
        self.builder.becomes_settings("the names of its topics")
        yield self.builder.build([])

    def _project(self, value: Value) -> Iterator[SourceObject]:
        name = value.text_at("name")
        if not name:
            problem, advice = "the project has no name", "name it there"
            yield ObjectBuilder("project", "", value).refuse(problem, advice)
            return
        fields = self.builder.read(_PROJECT, value, f"project {name}")
        fields.take("name")
        topics = [
            ObjectBuilder("topic", item.text_at("name") or "", item)
            for item in fields.items("topics")
        ]
        full = [topic_name_or_loss(topic, self.naming, name) for topic in topics]
        for topic, topic_name in zip(topics, full, strict=True):
            topic.name = topic_name or topic.name
            yield self._topic(topic, topic_name)
            yield from self._grants_of_topic(topic.value, topic_name)
        named = {item: topic.value for topic, item in zip(topics, full, strict=True) if item}
        for entry in self._entries(fields):
            scope = GrantedTopics(
                topics=tuple(_without_own(entry, named)),
                prefix=self.naming.prefix(name),
                prefixed=self.shared.settings.is_set("topology.acls.optimized"),
                settings=self.shared.settings,
            )
            yield _granted(entry, scope)
        for kind, reason in _ELSEWHERE.items():
            for item in fields.items(kind):
                yield ObjectBuilder(kind, "", item).refuse(reason, "keep it where it is")
        for key, others in fields.take_all():
            for item in others.items():
                yield self._own_role(key, item)
            if not others.is_list():
                problem, advice = f"{key} is no list of grants", "it is left out"
                yield ObjectBuilder(key, name, others).refuse(problem, advice)

    def _entries(self, fields: KeyedFields) -> Iterator[_Entry]:
        """The grants of a project; connectors and ksql may have theirs below access_control."""
        for key, grant in {**ON_TOPICS, **OF_PROJECT}.items():
            value = fields.take(key)
            if value is None:
                continue
            items = value.items()
            if value.is_mapping():
                of = f"{key} of {fields.of}"
                items = self.builder.read(_SYSTEM, value, of).items("access_control")
            elif not value.is_list():
                problem = f"{key} is {value.shown}, not a list"
                self.builder.lose(value, problem, "correct it there")
            yield from (_Entry(key.removesuffix("s"), item, grant) for item in items)

    def _own_role(self, key: str, value: Value) -> SourceObject:
        role = self.shared.roles.get(key)
        if role is None:
            return ObjectBuilder(key, "", value).refuse(
                "no roles file among the files has this role", "convert the file together with it"
            )
        scope = GrantedTopics(settings=self.shared.settings)
        return _granted(_Entry(key, value, GrantList(OWN_ROLE, partial(own_role, role))), scope)

    def _grants_of_topic(self, topic: Value, name: str | None) -> Iterator[SourceObject]:
        scope = GrantedTopics(topics=(name,) if name else (), settings=self.shared.settings)
        for key, grant in ON_TOPICS.items():
            for item in _items_at(topic, key):
                yield _granted(_Entry(key.removesuffix("s"), item, grant), scope)

    def _topic(self, builder: ObjectBuilder, name: str | None, keys: Keys = _TOPIC) -> SourceObject:
        fields = builder.read(keys)
        for key in ("name", *ON_TOPICS, *(() if keys is _SPECIAL_TOPIC else ("dataType",))):
            fields.take(key)
        label = fields.text("plan")
        plan = self.shared.plans.get(label or "")
        configs = (builder.value.at("config"), plan.at("config") if plan else None)
        written = {key for config in configs if config is not None for key, _ in config.entries()}
        profile = plan_name(label) if label and set(_SIZES) <= written else None
        source = _topic_source(fields, profile=profile, complete=True)
        builder.label(fields.texts("metadata"))
        if label and plan is None:
            builder.lose(
                builder.value,
                f"{builder}: the plan {label} is in no plans file among the files",
                "convert the file together with it",
            )
        elif name:
            declare_topic(builder, name, source)
        parts = [item for key, item in builder.value.entries() if key not in ON_TOPICS]
        return builder.build(parts)

    def _platform(self, platform: KeyedFields) -> Iterator[SourceObject]:
        scope = GrantedTopics(settings=self.shared.settings)
        kafka = platform.fields("kafka")
        servers = {key: platform.fields(key) for key in OF_PLATFORM}
        for key, grant in OF_PLATFORM.items():
            for item in servers[key].items("instances"):
                yield _granted(_Entry(key, item, grant), scope)
        connect = platform.fields("kafka_connect")
        for key, server in {**servers, "kafka": kafka, "kafka_connect": connect}.items():
            rbac = server.take("rbac")
            for item in [] if rbac is None else rbac.items() or [rbac]:
                problem, advice = f"rbac of {key}: {_ELSEWHERE['rbac']}", "keep it there"
                yield ObjectBuilder("rbac", "", item).refuse(problem, advice)
        yield from map(_quota, kafka.items("quotas"))


def _items_at(value: Value, key: str) -> list[Value]:
    """The items of a list, which is looked at and not read."""
    found = value.at(key)
    if found is None:
        return []
    return found.items() if found.is_list() else [found]


def _without_own(entry: _Entry, topics: dict[str, Value]) -> Iterable[str]:
    """The topics of a project that have no producer of their own with the entry's principal."""
    principal = entry.value.text_at("principal")
    for name, topic in topics.items():
        own = _items_at(topic, "producers") if entry.kind == "producer" else []
        if principal not in {item.text_at("principal") for item in own}:
            yield name


def _granted(entry: _Entry, scope: GrantedTopics) -> SourceObject:
    principal = entry.value.text_at("principal")
    builder = ObjectBuilder(entry.kind, principal or "", entry.value)
    if not principal:
        return builder.refuse("it has no principal", "write it there")
    fields = builder.read(entry.grant.keys)
    fields.take("principal")
    builder.label(fields.texts("metadata"))
    acls = entry.grant.expand(principal, builder, fields, scope)
    declare_acls(builder, acls)
    builder.lose_if_empty(acls, "is granted nothing")
    return builder.build()


def _quota(value: Value) -> SourceObject:
    builder = ObjectBuilder("quota", value.text_at("principal") or "", value)
    fields = builder.read(_QUOTA)
    fields.take("principal")
    quotas = {key: item for key in _QUOTAS if (item := fields.take(key)) is not None}
    # The user is called as it is written: Julie does not take `User:` off.
    declare_quota(builder, {"user": builder.name or DEFAULT}, quotas)
    return builder.build()
