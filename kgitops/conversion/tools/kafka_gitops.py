"""kafka-gitops' state files: topics, services, users, their own ACLs, and the files they name."""

import posixpath
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from kgitops.conversion.acls import AclSource, declare_acls, read_member, read_operations
from kgitops.conversion.objects import Conversion, SourceObject
from kgitops.conversion.reading.budget import TooMuchError
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    beyond_budget,
    converted_file,
    documents_of,
    lost_document,
    read_yaml_files,
)
from kgitops.conversion.reading.keys import KeyedFields, Keys, declared, harmless, same, setting
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.conversion.tools.kafka_gitops_roles import (
    SERVICE,
    SERVICE_TYPES,
    USER,
    service_acls,
    user_acls,
)
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.model.resources.acls import PatternType, PermissionType, ResourceType

_INCLUDED = ("services", "topics", "users")
_CUSTOM = {"customServiceAcls": "services", "customUserAcls": "users"}
_CUSTOM_OF = {owner: section for section, owner in _CUSTOM.items()}
_SECTIONS = ("settings", *_INCLUDED, *_CUSTOM)
_NOT_DELETED = harmless("kgitops deletes no topic that no project owns, and knows no other")
_OF_TOPICS, _OF_ACLS, _OF_OBJECTS = map(setting, ("its topics", "its ACLs", "its objects"))
_DESCRIBE: Keys = {"describeTopicEnabled": _OF_ACLS}
_SETTINGS: Keys = {
    "topics": setting(
        "its topics",
        {
            "defaults": setting("its topics", same(_OF_TOPICS, "replication", "partitions")),
            **same(_NOT_DELETED, "blacklist", "whitelist"),
        },
    ),
    "services": setting("its ACLs", {"acls": setting("its ACLs", _DESCRIBE)}),
    "ccloud": setting("its ACLs", {"enabled": _OF_ACLS}),
    "files": setting("its objects", same(_OF_OBJECTS, *_INCLUDED)),
}
_TOPIC: Keys = same(declared(), "partitions", "replication", "configs")
_ACL: Keys = same(
    declared(), "name", "type", "pattern", "host", "principal", "operation", "permission"
)
_ACLS: Keys = {"*": declared(_ACL)}
TABLES: Mapping[str, Keys] = {
    "state": {
        "settings": setting("what its topics and ACLs have in common", _SETTINGS),
        "topics": declared({"*": declared(_TOPIC)}),
        "services": declared({"*": declared(SERVICE)}),
        "users": declared({"*": declared(USER)}),
        **same(declared({"*": declared(_ACLS)}), *_CUSTOM),
    }
}


def count(folder: SourceFolder) -> int:
    """The number of state files."""
    return sum(map(_is_state, documents_of(read_yaml_files(folder, Dialect.CAUTIOUS))))


def convert(folder: SourceFolder) -> Conversion:
    """Read all state files with the files they name; others are ignored."""
    files = read_yaml_files(folder, Dialect.CAUTIOUS)
    found: dict[str, list[SourceObject]] = {file.file.path: [] for file in files}
    named: dict[str, Value] = {}
    states = [
        _State(file.file.path, document, files, named)
        for file in files
        for document in file.documents
        if _is_state(document)
    ]
    included = {path for state in states for path in state.paths.values()}
    try:
        for state in states:
            if state.path not in included:
                for path, item in state.objects():
                    found[path].append(item)
    except TooMuchError as error:
        lost = beyond_budget(error)
        path = next(file.file.path for file in files if file.file.text.name == lost.source.file)
        found[path].append(lost)
    read = {document.source for state in states for document in state.documents}
    ignored = []
    for file in files:
        for document in file.documents:
            if document.source in read:
                continue
            if file.file.path in included:
                found[file.file.path].append(
                    lost_document(document, "it is no state file", "correct it there")
                )
            elif foreign := _foreign_beside_topics(document):
                problem = f"a state file has no key {foreign}, so it may be another program's"
                found[file.file.path].append(lost_document(document, problem, "remove the key"))
            else:
                ignored.append(f"{document.source.file}:{document.source.line}")
    return Conversion(
        tool="kafka-gitops",
        files=tuple(converted_file(file, found[file.file.path]) for file in files),
        ignored=tuple(ignored),
    )


def _is_state(document: Value) -> bool:
    """Return whether the document can only be a state file; a key such as `services` is not enough.

    Compose files, Helm values and pipelines have such keys too, with other things in them.
    """
    sections, foreign = _sections(document)
    if foreign & _OF_OTHERS:
        return False
    signs = {name for name, value in sections.items() if _SIGNS[name](value)}
    return bool(signs) and (not foreign or signs != {"topics"})


def _foreign_beside_topics(document: Value) -> str | None:
    """The first key that no state file has, in a document with topics as a state file has them."""
    sections, foreign = _sections(document)
    has_topics = "topics" in sections and _has_topic(sections["topics"])
    return min(foreign) if has_topics and foreign and not foreign & _OF_OTHERS else None


def _sections(document: Value) -> tuple[dict[str, Value], set[str]]:
    """The sections that a state file may have, and the other keys."""
    entries = dict(document.entries())
    sections = {name: value for name, value in entries.items() if name in _SECTIONS}
    return sections, entries.keys() - sections.keys()


def _has_topic(topics: Value) -> bool:
    named = [{key for key, _ in topic.entries()} for _, topic in topics.entries()]
    return any(keys & {"partitions", "replication"} and not keys & _SPELLED_ELSE for keys in named)


def _has_service(services: Value) -> bool:
    return any(
        key in SERVICE and (key != "type" or value.text() in SERVICE_TYPES)
        for _, service in services.entries()
        for key, value in service.entries()
    )


_OF_OTHERS = {"apiVersion", "kind", "version", "context", "projects"}
_SPELLED_ELSE = {"replicas", "replicationFactor", "replication_factor", "name"}
_SIGNS: Mapping[str, Callable[[Value], bool]] = {
    "settings": lambda value: any(key in _SETTINGS for key, _ in value.entries()),
    "topics": _has_topic,
    "services": _has_service,
    "users": lambda value: any(
        key in USER for _, user in value.entries() for key, _ in user.entries()
    ),
    **dict.fromkeys(_CUSTOM, Value.is_mapping),
}
"""The signs of a state file in each of its sections."""


class _Settings(Struct, frozen=True):
    """The settings that decide on topics and ACLs."""

    replication: int | None = None
    partitions: int | None = None
    describe: bool = False
    cloud: bool = False


class _State:
    """A state file, and the files that its settings name."""

    def __init__(
        self, path: str, root: Value, files: Iterable[YamlFile], named: dict[str, Value]
    ) -> None:
        self.path = path
        self.root = root
        self.paths: dict[str, str] = {}
        self.missing: dict[str, Value] = {}
        self._files = {file.file.path: file.documents for file in files}
        self._named = named
        self.documents = [root]
        for section in _INCLUDED:
            value = root.at("settings", "files", section)
            if value is None:
                continue
            folder = posixpath.dirname(path)
            other = posixpath.normpath(posixpath.join(folder, value.text() or ""))
            documents = self._files.get(other, ())
            if len(documents) == 1 and other != path:
                self.paths[section] = other
                self.documents.append(documents[0])
            else:
                self.missing[section] = value

    def objects(self) -> Iterable[tuple[str, SourceObject]]:
        """All objects, each with the path of its file."""
        builder = ObjectBuilder("state", self.path, self.root)
        root = builder.read(TABLES["state"], of="the state file")
        settings = self._settings(root, builder)
        sections = {name: self._section(root, name, builder) for name in _INCLUDED}
        custom = {name: root.entries(name) for name in _CUSTOM}
        for section, path in self.paths.items():
            yield from self._included(section, path, sections[section])
        for path, name, value in sections["topics"]:
            yield path, _topic(name, value, settings)
        for section, expand in (("services", service_acls), ("users", user_acls)):
            written_out = {name for name, _ in custom[_CUSTOM_OF[section]]}
            for path, name, value in sections[section]:
                item = ObjectBuilder(section.removesuffix("s"), name, value)
                acls = expand(item, describe=settings.describe)
                if name in written_out and not acls:
                    item.becomes_settings(f"its ACLs, which are in {_CUSTOM_OF[section]}")
                    yield path, item.build()
                else:
                    yield path, _granted(item, acls, settings)
        for section, owner in _CUSTOM.items():
            owners = {name: value for _, name, value in sections[owner]}
            for name, group in custom[section]:
                yield from self._custom(section, name, group, owners, settings)
        builder.becomes_settings("what its topics and ACLs have in common")
        # Comments inside belong to the objects, and were taken by them above.
        yield self.path, builder.build([])

    def _settings(self, root: KeyedFields, builder: ObjectBuilder) -> _Settings:
        settings = root.fields("settings")
        defaults = settings.fields("topics").fields("defaults")
        acls = settings.fields("services").fields("acls")
        files = settings.fields("files")
        for section in _INCLUDED:
            files.take(section)
        for section, value in self.missing.items():
            builder.lose(
                value,
                f"the file {value.shown} for {section} is not among the files, or is not one "
                "document",
                "convert it together with this one",
            )
        return _Settings(
            replication=defaults.integer("replication"),
            partitions=defaults.integer("partitions"),
            describe=acls.flag("describeTopicEnabled") is True,
            cloud=settings.fields("ccloud").flag("enabled") is True,
        )

    def _section(
        self, root: KeyedFields, section: str, builder: ObjectBuilder
    ) -> list[tuple[str, str, Value]]:
        """The entries of a section; one of the named file replaces one of the state file."""
        own = {name: (self.path, name, value) for name, value in root.entries(section)}
        path = self.paths.get(section)
        if path is None:
            return list(own.values())
        found = self._files[path][0].at(section)
        other = list(found.entries()) if found is not None else []
        for name, _ in other:
            if name in own:
                builder.lose(
                    own[name][2],
                    f"{name} of {section} is replaced by the one in {path}",
                    "it is left out, as in kafka-gitops; remove it",
                )
        return list((own | {name: (path, name, value) for name, value in other}).values())

    def _included(
        self, section: str, path: str, entries: list[tuple[str, str, Value]]
    ) -> Iterable[tuple[str, SourceObject]]:
        """A named file itself: kafka-gitops reads one section of it."""
        document = self._files[path][0]
        builder = ObjectBuilder("state", path, document)
        first = self._named.setdefault(f"{section} {path}", self.root)
        if first is not self.root:
            entries.clear()
            builder.lose(
                self.root,
                f"{path} is named by {first.source.file} too, whose settings its objects have",
                "convert the two state files by themselves",
            )
        table = {section: setting(f"the {section} of {self.path}")}
        builder.read(table, of=f"the file for {section}").entries(section)
        builder.reading.lose_rest()
        builder.becomes_settings(f"the {section} of {self.path}")
        if builder.losses or section == next(
            name for name, other in self.paths.items() if other == path
        ):
            yield path, builder.build([])

    def _custom(
        self,
        section: str,
        name: str,
        group: Value,
        owners: Mapping[str, Value],
        settings: _Settings,
    ) -> Iterable[tuple[str, SourceObject]]:
        """The ACLs that are written out for a service or a user."""
        outer = ObjectBuilder(section, name, group)
        for key, value in outer.read(_ACLS).take_all():
            builder = ObjectBuilder(section, f"{name} {key}", value)
            if name not in owners:
                word = _CUSTOM[section].removesuffix("s")
                yield (
                    self.path,
                    builder.refuse(
                        f"there is no {word} {name}, so kafka-gitops passes over it",
                        "remove it, or write an Acl by hand",
                    ),
                )
                continue
            # A service's own principal is not taken: kafka-gitops wants it in the ACL.
            own = owners[name].text_at("principal") if section == "customUserAcls" else None
            acl = _custom_acl(builder, own)
            yield self.path, _granted(builder, [acl] if acl else [], settings)
        if outer.losses:
            yield self.path, outer.build()


def _topic(name: str, value: Value, settings: _Settings) -> SourceObject:
    builder = ObjectBuilder("topic", name, value)
    fields = builder.read(_TOPIC)
    replication, partitions = fields.integer("replication"), fields.integer("partitions")
    declare_topic(
        builder,
        name,
        TopicSource(
            partitions=settings.partitions if partitions is None else partitions,
            replication_factor=settings.replication if replication is None else replication,
            configs=dict(fields.entries("configs")),
        ),
    )
    return builder.build()


def _granted(
    builder: ObjectBuilder, acls: Iterable[AclSource], settings: _Settings
) -> SourceObject:
    if settings.cloud:
        return builder.refuse(
            "its principal is the id of a Confluent Cloud service account, which is not known here",
            "write an Acl with the id, User:sa-…",
        )
    acls = list(acls)
    declare_acls(builder, acls)
    builder.lose_if_empty(acls, "grants nothing")
    return builder.build()


def _custom_acl(builder: ObjectBuilder, owner: str | None) -> AclSource | None:
    fields = builder.read(_ACL)
    kind = read_member(builder, ResourceType, fields.take("type"))
    pattern = read_member(builder, PatternType, fields.take("pattern"))
    permission = read_member(
        builder, PermissionType, fields.take("permission"), PermissionType.ALLOW
    )
    operation = fields.take("operation")
    operations = read_operations(builder, [operation] if operation else [])
    name = fields.text("name")
    host = fields.text_or("host", "*")
    principal = fields.text("principal") or owner
    if not (kind and pattern and permission and operations and name and principal and host):
        if not builder.losses:
            builder.lose(
                builder.value,
                f"{builder} lacks a name, type, pattern, operation or principal",
                "write it there",
            )
        return None
    return AclSource(
        principal=principal,
        operations=operations,
        type=kind,
        name=name,
        pattern=pattern,
        permission=permission,
        host=host,
    )
