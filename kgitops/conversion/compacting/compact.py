"""Takes what topics repeat into profiles and defaults; expanded, they declare the same."""

from collections.abc import Mapping

from msgspec.structs import replace

from kgitops.conversion.compacting.acls import merge_acls
from kgitops.conversion.compacting.choosing import (
    Profile,
    best_profile,
    choose_defaults,
    choose_profiles,
    profile_names,
)
from kgitops.conversion.compacting.items import (
    Item,
    items_of,
    profile_spec,
    without,
    written_values,
)
from kgitops.conversion.objects import Conversion, DeclaredDocument, SourceObject
from kgitops.model.registry import Json


def compact(conversion: Conversion) -> Conversion:
    """The conversion with profiles for what its topics repeat.

    Topics that have a profile already, or are copied as they stand, are left alone. There are
    defaults only if every other topic is known, as they hold for all topics.
    """
    if conversion.tool == "kgitops":  # in another tool's files, an ACL is at who has it
        conversion = replace(conversion, files=tuple(map(merge_acls, conversion.files)))
    documents = [document for item in conversion.objects for document in item.documents]
    topics = [document for document in documents if _can_take(document)]
    items = {id(document): items_of(document) for document in topics}
    written: dict[Item, Json] = {}
    for document in topics:
        for item, value in written_values(document).items():
            written.setdefault(item, value)
    chosen = choose_profiles(items.values())
    profiles = {key: best_profile(topic, chosen) for key, topic in items.items()}
    used = [profile for profile in chosen if profile in set(profiles.values())]
    names = dict(zip(used, _free_names(used, documents), strict=True))
    rest = [topic for key, topic in items.items() if profiles[key] is None]
    defaults = (
        choose_defaults(rest, items.values())
        if _may_have_defaults(conversion, documents)
        else frozenset()
    )
    made = tuple(
        DeclaredDocument(
            kind="TopicProfile", name=names[profile], spec=profile_spec(profile, written)
        )
        for profile in used
    )

    def rewritten(document: DeclaredDocument) -> DeclaredDocument:
        if id(document) not in items:
            return document
        return _with_profile(document, profiles[id(document)], names, defaults)

    return replace(
        conversion,
        files=tuple(
            replace(
                file,
                objects=tuple(
                    _with_documents(item, tuple(map(rewritten, item.documents)))
                    for item in file.objects
                ),
            )
            for file in conversion.files
        ),
        profiles=(*conversion.profiles, *made),
        topic_defaults=profile_spec(defaults, written) or conversion.topic_defaults,
    )


def _can_take(document: DeclaredDocument) -> bool:
    return document.kind == "Topic" and not document.text and "profile" not in document.spec


def _may_have_defaults(conversion: Conversion, documents: list[DeclaredDocument]) -> bool:
    copied = any(
        document.kind == "TopicList"
        or (document.kind == "Topic" and (document.text or "profile" in document.spec))
        for document in documents
    )
    return not copied and not conversion.topic_defaults and not conversion.project


def _free_names(profiles: list[Profile], documents: list[DeclaredDocument]) -> list[str]:
    """Names that no profile of the source has."""
    taken = {document.name for document in documents if document.kind == "TopicProfile"}
    names = []
    for name in profile_names(profiles):
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name}-{number}"
        taken.add(free)
        names.append(free)
    return names


def _with_profile(
    document: DeclaredDocument,
    profile: Profile | None,
    names: Mapping[Profile, str],
    defaults: Profile,
) -> DeclaredDocument:
    if profile is None:
        return replace(document, spec=without(document.spec, defaults))
    return replace(document, spec={"profile": names[profile], **without(document.spec, profile)})


def _with_documents(item: SourceObject, documents: tuple[DeclaredDocument, ...]) -> SourceObject:
    return replace(item, documents=documents)
