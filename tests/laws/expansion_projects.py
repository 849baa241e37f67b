"""Projects with profiles, folders, defaults and roles, and the same projects written out.

Writing out follows docs/guides/profiles.md step by step, and shares nothing with the product.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from hypothesis import strategies as st
from manifests.loading import write
from msgspec import Struct

from kgitops.desired.state import DesiredState
from kgitops.model.registry import Json
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

FOLDERS = (".", "a", "a/b", "c")
LABELS: Mapping[str, Sequence[str]] = {"team": ("pay", "shop"), "tier": ("one", "two")}
CONFIGS: Mapping[str, Sequence[Json]] = {
    "retention.ms": (1000, 604800000),
    "cleanup.policy": ("compact", "delete"),
    "segment.ms": (5000, 60000),
}
_SINGLE: Mapping[str, Sequence[Json]] = {
    "partitions": (1, 4),
    "replicationFactor": (1, 2),
    "configsPolicy": ("Exact", "Declared"),
    "deletionPolicy": ("Delete", "Orphan", "Protect"),
}
PROFILES = ("compacted", "short")
Values = Mapping[str, Json]


class Topic(Struct, frozen=True, kw_only=True):
    """A Topic document: what it writes itself, by path; None takes out a config."""

    name: str
    folder: str
    profile: str | None
    own: Values
    labels: Mapping[str, str]


class Role(Struct, frozen=True, kw_only=True):
    """An Acl document with a role."""

    folder: str
    fields: Mapping[str, Json]


class User(Struct, frozen=True, kw_only=True):
    """A User document; its folders give it labels, and nothing else."""

    name: str
    folder: str
    scram: Sequence[Mapping[str, Json]]
    labels: Mapping[str, str]


class Project(Struct, frozen=True, kw_only=True):
    """A project as its documents say it; ``places`` are the folders of its profiles."""

    profiles: Mapping[str, Values]
    places: Mapping[str, str]
    folders: Mapping[str, tuple[Mapping[str, str], str | None]]
    defaults: Values
    cluster_defaults: Values
    topics: Sequence[Topic]
    roles: Sequence[Role]
    users: Sequence[User]


def _some(choices: Mapping[str, Sequence[Json]]) -> st.SearchStrategy[dict[str, Json]]:
    optional = {key: st.sampled_from(values) for key, values in choices.items()}
    return st.fixed_dictionaries({}, optional=optional)


_configs = {f"configs.{key}": values for key, values in CONFIGS.items()}
values = _some({**_SINGLE, **_configs})
labels = _some(LABELS)
profile_names = st.none() | st.sampled_from(PROFILES)


@st.composite
def _with_nulls(draw: st.DrawFn) -> dict[str, Json]:
    """Values, some of which remove what is below."""
    nulls = draw(st.sets(st.sampled_from(sorted(_configs)), max_size=2))
    return {**draw(values), **dict.fromkeys(sorted(nulls))}


@st.composite
def _topics(draw: st.DrawFn, number: int) -> Topic:
    return Topic(
        name=f"topic{number}",
        folder=draw(st.sampled_from(FOLDERS)),
        profile=draw(profile_names),
        own=draw(_with_nulls()),
        labels=draw(labels),
    )


@st.composite
def _roles(draw: st.DrawFn) -> Role:
    role = draw(
        st.sampled_from(("producer", "consumer", "streams", "connect-worker", "admin")),
    )
    names = st.sampled_from(("orders", "pay.", "*"))
    fields: dict[str, Json] = {"principals": draw(_principals), "role": role}
    if draw(st.booleans()):
        fields["host"] = "10.0.0.1"
    if role in ("producer", "consumer", "connect-worker"):
        fields["topics"] = sorted(draw(st.sets(names, min_size=1, max_size=2)))
    if role in ("producer", "consumer") and draw(st.booleans()):
        fields["patternType"] = "prefixed"
    if role in ("consumer", "connect-worker"):
        fields["group"] = draw(names)
    if role == "producer" and draw(st.booleans()):
        fields["create"] = draw(st.booleans())
    if role == "streams":
        fields["applicationId"] = draw(st.sampled_from(("app", "pay.")))
    if role in ("producer", "streams", "connect-worker") and draw(st.booleans()):
        fields["transactionalId"] = draw(st.sampled_from(("tx", "pay.")))
    return Role(folder=draw(st.sampled_from(("a/b", "c"))), fields=fields)


_principals = st.lists(
    st.sampled_from(("User:x", "User:y")), min_size=1, max_size=2, unique=True
).map(sorted)


_passwords = st.sampled_from(
    ({"env": "WORD"}, {"file": "words/one"}, {"command": ["./give"]}, {"unknown": True})
)


@st.composite
def _users(draw: st.DrawFn, number: int) -> User:
    mechanisms = st.sampled_from(("SCRAM-SHA-256", "SCRAM-SHA-512"))
    return User(
        name=f"user{number}",
        folder=draw(st.sampled_from(FOLDERS)),
        scram=[
            {"mechanism": mechanism, "iterations": 4096, "password": draw(_passwords)}
            for mechanism in sorted(draw(st.sets(mechanisms, min_size=1)))
        ],
        labels=draw(labels),
    )


@st.composite
def projects(draw: st.DrawFn) -> Project:
    """Projects in which every topic has a size, and no documents contradict each other."""
    roles = draw(st.lists(_roles(), max_size=3))
    if roles:  # labels of two folders could contradict each other
        roles = [Role(folder=roles[0].folder, fields=role.fields) for role in roles]
    project = Project(
        profiles={name: draw(_with_nulls()) for name in PROFILES},
        places={name: draw(st.sampled_from(FOLDERS)) for name in PROFILES},
        folders=draw(
            st.dictionaries(st.sampled_from(FOLDERS), st.tuples(labels, profile_names), max_size=4)
        ),
        defaults=draw(values),
        cluster_defaults=draw(_with_nulls()),
        topics=[draw(_topics(number)) for number in range(draw(st.integers(0, 4)))],
        roles=roles,
        users=[draw(_users(number)) for number in range(draw(st.integers(0, 2)))],
    )
    return Project(**{**_fields(project), "topics": [_sized(it, project) for it in project.topics]})


def _fields(project: Project) -> dict[str, object]:
    return {name: getattr(project, name) for name in project.__struct_fields__}


def _sized(topic: Topic, project: Project) -> Topic:
    """The topic with the size that nothing else gives it, and without nulls for nothing."""
    given, removed = layers_of(topic, project)
    known = {*given, *removed}
    own = {key: it for key, it in topic.own.items() if it is not None or key in known}
    for key in ("partitions", "replicationFactor"):
        if key not in given:
            own.setdefault(key, 2)
    return Topic(**{**{n: getattr(topic, n) for n in topic.__struct_fields__}, "own": own})


# Writing out


def parents(folder: str) -> list[str]:
    """The folders above one, outermost first, and itself."""
    if folder == ".":
        return ["."]
    steps = folder.split("/")
    return [".", *("/".join(steps[: end + 1]) for end in range(len(steps)))]


Given = Mapping[str, tuple[Json, tuple[str, str]]]
"""Values by path, each with the kind and the name of its origin."""


def layers_of(topic: Topic, project: Project) -> tuple[Given, Given]:
    """The values that a topic has unless it writes them itself, and those that null removed."""
    named = topic.profile
    for folder in reversed(parents(topic.folder)):
        if named is None and folder in project.folders:
            named = project.folders[folder][1]
    given: dict[str, tuple[Json, tuple[str, str]]] = {}
    removed: dict[str, tuple[Json, tuple[str, str]]] = {}
    for values_of_layer, origin in (
        (project.defaults, ("project-default", "")),
        (project.cluster_defaults, ("cluster-default", "local")),
        (project.profiles[named] if named else {}, ("profile", named or "")),
    ):
        for key, value in values_of_layer.items():
            if value is not None:
                given[key] = value, origin
                removed.pop(key, None)
            elif key in given:
                removed[key] = given.pop(key)
    return given, removed


def labels_of(folder: str, own: Mapping[str, str], project: Project) -> Given:
    """The labels of an object, those without an origin of another document left out."""
    found: dict[str, tuple[Json, tuple[str, str]]] = {}
    for above in parents(folder):
        for key, text in project.folders.get(above, ({}, None))[0].items():
            found[key] = (text, ("folder", above))
    return {key: it for key, it in found.items() if key not in own}


def origins_of_topic(topic: Topic, project: Project) -> dict[str, tuple[str, str]]:
    """The origins that a plan has to name, by path, those of removed values too."""
    layer, removed = layers_of(topic, project)
    nulled = {key for key, value in topic.own.items() if value is None}
    removed = {key: it for key, it in removed.items() if key in nulled or key not in topic.own}
    removed |= {key: it for key, it in layer.items() if key in nulled}
    from_folders = labels_of(topic.folder, topic.labels, project)
    return {
        **{key: origin for key, (_, origin) in layer.items() if key not in topic.own},
        **{
            key: (f"{kind} removed: {value}", name)
            for key, (value, (kind, name)) in removed.items()
        },
        **{f"labels.{key}": origin for key, (_, origin) in from_folders.items()},
    }


def origins_of_user(user: User, project: Project) -> dict[str, tuple[str, str]]:
    """The origins that a plan has to name, by path."""
    from_folders = labels_of(user.folder, user.labels, project)
    return {f"labels.{key}": origin for key, (_, origin) in from_folders.items()}


def written_out(project: Project) -> list[dict[str, Json]]:
    """The documents of the same project without profiles, folders, defaults and roles."""
    documents = []
    for topic in project.topics:
        all_values = {key: it for key, (it, _) in layers_of(topic, project)[0].items()} | topic.own
        own = {key: it for key, it in all_values.items() if it is not None}
        documents.append(_topic_document(topic.name, own, _all_labels(topic, project)))
    bindings = {
        json.dumps(binding, sort_keys=True): (binding, role.folder)
        for role in project.roles
        for binding in bindings_of(role.fields)
    }
    for number, (spec, folder) in enumerate(bindings.values()):
        given = {key: it for key, (it, _) in labels_of(folder, {}, project).items()}
        documents.append(_document("Acl", {"name": f"acl{number}", "labels": given}, spec))
    documents += [_user_document(user, _all_labels(user, project)) for user in project.users]
    return documents


def _all_labels(item: Topic | User, project: Project) -> dict[str, Json]:
    given = labels_of(item.folder, item.labels, project)
    return {key: it for key, (it, _) in given.items()} | dict(item.labels)


def bindings_of(fields: Mapping[str, Json]) -> Iterable[dict[str, Json]]:
    """Acl specs of one principal and one operation each, by the table of the guide."""
    prefixed = fields.get("patternType", "literal")
    rights: list[tuple[str, str, str, str]] = []

    def add(kind: str, name: str, pattern: str, operations: str) -> None:
        pattern = "literal" if name == "*" else pattern
        rights.extend((kind, name, pattern, operation) for operation in operations.split())

    topics: Mapping[str, str] = {
        "producer": "Write Describe Create" if fields.get("create") else "Write Describe",
        "consumer": "Read Describe",
        "connect-worker": "Read Write Describe Create",
    }
    role = str(fields["role"])
    for name in fields.get("topics", ()):
        add("topic", name, prefixed, topics[role])
    if role == "consumer":
        add("group", fields["group"], prefixed, "Read")
    if role == "connect-worker":
        add("group", fields["group"], "literal", "Read Describe")
    if role == "streams":
        rights.append(("topic", fields["applicationId"], "prefixed", "All"))
        rights.append(("group", fields["applicationId"], "prefixed", "All"))
    if "transactionalId" in fields:
        pattern = "prefixed" if role == "streams" else prefixed
        add("transactionalId", fields["transactionalId"], pattern, "Write Describe")
    if role == "admin":
        rights.append(("cluster", "kafka-cluster", "literal", "All"))
        kinds = ("topic", "group", "transactionalId", "delegationToken")
        rights.extend((kind, "*", "literal", "All") for kind in kinds)
    for principal in fields["principals"]:
        for kind, name, pattern, operation in rights:
            yield {
                "principal": principal,
                "host": fields.get("host", "*"),
                "permission": "Allow",
                "operations": [operation],
                "resource": {"type": kind, "name": name, "patternType": pattern},
            }


# Documents and files


def _document(kind: str, metadata: Values, spec: Values) -> dict[str, Json]:
    return {"apiVersion": "kgitops/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _spec(by_path: Values) -> dict[str, Json]:
    configs, rest = {}, {}
    for path, value in by_path.items():
        group, _, key = path.partition(".")
        (configs if group == "configs" else rest)[key or group] = value
    return {**rest, **({"configs": configs} if configs else {})}


def _topic_document(name: str, own: Values, labels: Values, **more: Json) -> dict[str, Json]:
    return _document("Topic", {"name": name, "labels": labels}, {**_spec(own), **more})


def _user_document(user: User, labels: Values) -> dict[str, Json]:
    return _document("User", {"name": user.name, "labels": labels}, {"scram": user.scram})


def documents_of(project: Project) -> list[tuple[str, dict[str, Json]]]:
    """The documents of a project as it is, each with its folder."""
    found = [
        (project.places[name], _document("TopicProfile", {"name": name}, _spec(it)))
        for name, it in project.profiles.items()
    ]
    for folder, (given, profile) in project.folders.items():
        spec = {} if profile is None else {"profile": profile}
        found.append((folder, _document("Folder", {"labels": given}, spec)))
    for topic in project.topics:
        more = {} if topic.profile is None else {"profile": topic.profile}
        found.append((topic.folder, _topic_document(topic.name, topic.own, topic.labels, **more)))
    found += [(user.folder, _user_document(user, user.labels)) for user in project.users]
    for number, role in enumerate(project.roles):
        found.append((role.folder, _document("Acl", {"name": f"role{number}"}, role.fields)))
    return found


def write_project(
    folder: Path,
    documents: Sequence[tuple[str, str, Mapping[str, Json]]],
    defaults: Values,
    cluster_defaults: Values,
) -> DesiredState:
    """Write documents, each with its folder and its file, in this order; load them."""
    cluster = {"url": "embedded:", "brokers": 3, "defaults": {"topic": _spec(cluster_defaults)}}
    spec = {
        "manifests": ["manifests"],
        "defaults": {"topic": _spec(defaults)},
        "clusters": {"local": cluster},
    }
    project = _document("Project", {"name": "p", "uid": "u-1"}, spec)
    files = {"kgitops.yaml": json.dumps(project), "manifests/nothing.yaml": "# nothing\n"}
    by_file = sorted(documents, key=lambda item: f"{item[0]}/{item[1]}")
    for path, several in groupby(by_file, key=lambda item: f"{item[0]}/{item[1]}"):
        text = "\n---\n".join(json.dumps(document, indent=1) for _, _, document in several)
        files[f"manifests/{path}.yaml"] = text
    write(folder, files)
    selection = Selection(paths=(folder,), cluster="local", offline=True)
    with loaded(open_workspace(selection)) as everything:
        return everything.desired
