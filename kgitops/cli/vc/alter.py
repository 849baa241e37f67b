"""``kgitops vc alter``: add one member or link, or remove one."""

from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import ChangeOptions, VirtualClusterName
from kgitops.cli.running.parameters import with_groups
from kgitops.model.errors import UsageError

if TYPE_CHECKING:
    from kgitops.workflow.commands.member_options import MemberOptions

_ENTITY_FLAGS = "--user, --client, --topic and --link, --group, --transactional-id"


def _name_option(metavar: str, help_: str, *names: str, hidden: bool = False) -> object:
    return typer.Option(*names, metavar=metavar, help=help_, hidden=hidden)


@with_groups
def alter(
    virtual_cluster: VirtualClusterName,
    add: Annotated[bool, typer.Option("--add", help="Add it.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    user: Annotated[str | None, _name_option("PRINCIPAL", "A user.", "--user")] = None,
    client: Annotated[str | None, _name_option("CLIENT_ID", "A client id.", "--client")] = None,
    topic: Annotated[
        str | None, _name_option("TOPIC", "The physical topic that a link leads to.", "--topic")
    ] = None,
    link: Annotated[
        str | None, _name_option("LINK", "The topic's name in the virtual cluster.", "--link")
    ] = None,
    group: Annotated[str | None, _name_option("GROUP", "A consumer group.", "--group")] = None,
    transactional_id: Annotated[
        str | None, _name_option("ID", "A transactional id.", "--transactional-id")
    ] = None,
    copy_acls_from: Annotated[
        str | None,
        _name_option(
            "SOURCE",
            "Copy the user's ACLs from this virtual cluster, or from kafka-cluster.",
            "--copy-acls-from",
        ),
    ] = None,
    migrate_acls_from: Annotated[
        str | None, _name_option("SOURCE", "", "--migrate-acls-from", hidden=True)
    ] = None,
    remove_old_acls_from: Annotated[
        str | None,
        _name_option(
            "SOURCE",
            "Then delete the user's ACLs there that were copied.",
            "--remove-old-acls-from",
        ),
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Take it from the virtual cluster that it is in.")
    ] = False,
    adopt: Annotated[
        str | None,
        _name_option("GROUP", "With --group: take over this global group's offsets.", "--adopt"),
    ] = None,
    *,
    options: ChangeOptions,
) -> int:
    """Add one user, client id, link, group or transactional id, or remove one.

    A run makes one change. A link that is there is not led elsewhere: remove it first.

    Example: kgitops vc alter --virtual-cluster emea.sales --add --user jane-doe
    """
    from kgitops.cli.running.imperative import run_change
    from kgitops.cli.running.streams import print_notice
    from kgitops.workflow.commands.virtual_clusters import to_add, to_remove

    if add == remove:
        raise UsageError("give --add or --remove, one of the two")
    if migrate_acls_from and copy_acls_from:
        raise UsageError("--migrate-acls-from is the old name of --copy-acls-from; give one")
    if migrate_acls_from:
        print_notice("kgitops: --migrate-acls-from is deprecated; write --copy-acls-from")
    member = _member(
        virtual_cluster,
        user=user,
        client=client,
        topic=topic,
        link=link,
        group=group,
        transactional_id=transactional_id,
        copy_acls_from=copy_acls_from or migrate_acls_from,
        remove_old_acls_from=remove_old_acls_from,
        move=move,
        adopt=adopt,
    )
    only_with_add = member.copy_acls_from or member.remove_old_acls_from or move or adopt
    if remove and only_with_add:
        raise UsageError(
            "--copy-acls-from, --remove-old-acls-from, --move and --adopt belong to --add; drop "
            "them, or add"
        )
    return run_change(
        options,
        lambda state: (to_add if add else to_remove)(member, state),
        f"The virtual cluster {virtual_cluster} has {member.shown} already.",
    )


def _member(
    virtual_cluster: str,
    *,
    user: str | None,
    client: str | None,
    topic: str | None,
    link: str | None,
    group: str | None,
    transactional_id: str | None,
    copy_acls_from: str | None,
    remove_old_acls_from: str | None,
    move: bool,
    adopt: str | None,
) -> "MemberOptions":
    """The one member or link that the options name (VC-272).

    Raises:
        UsageError: none is named, more than one, or one that an option does not fit.
    """
    from kgitops.model.resources.virtual_clusters import EntityType
    from kgitops.workflow.commands.member_options import MemberOptions

    names = {
        EntityType.USER: user,
        EntityType.CLIENT_ID: client,
        EntityType.TOPIC: link or topic,
        EntityType.GROUP: group,
        EntityType.TRANSACTIONAL_ID: transactional_id,
    }
    kinds = [kind for kind, name in names.items() if name is not None]
    if len(kinds) != 1:
        raise UsageError(f"give exactly one of {_ENTITY_FLAGS}")
    (entity_type,) = kinds
    if (copy_acls_from or remove_old_acls_from) and entity_type is not EntityType.USER:
        raise UsageError("only a user has ACLs; give --user, or leave out the flags about ACLs")
    if move and entity_type not in (EntityType.USER, EntityType.CLIENT_ID):
        raise UsageError("only a user or a client id can be moved; drop --move")
    if adopt and entity_type is not EntityType.GROUP:
        raise UsageError("--adopt belongs to --group; give both")
    return MemberOptions(
        virtual_cluster=virtual_cluster,
        entity_type=entity_type,
        name=link if entity_type is EntityType.TOPIC else names[entity_type],
        topic=topic,
        copy_acls_from=copy_acls_from,
        remove_old_acls_from=remove_old_acls_from,
        move=move,
        adopt=adopt,
    )
