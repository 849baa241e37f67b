"""``kgitops vc alter``: one member more, or one less."""

from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.imperative import (
    DEFAULT_TIMEOUT_MS,
    BootstrapServer,
    CommandConfig,
    DryRun,
    Manner,
    Reach,
    Timeout,
    VirtualClusterName,
)
from kgitops.cli.running.options import ClusterName, NoColor, Principal
from kgitops.model.errors import UsageError

if TYPE_CHECKING:
    from kgitops.workflow.commands.member_options import MemberWords

_WHAT = "--user, --client, --topic and --link, --group, --transactional-id"


def _named(metavar: str, help_: str, *names: str, hidden: bool = False) -> object:
    return typer.Option(*names, metavar=metavar, help=help_, show_default=False, hidden=hidden)


def alter(
    virtual_cluster: VirtualClusterName,
    add: Annotated[bool, typer.Option("--add", help="Add it.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    user: Annotated[str | None, _named("PRINCIPAL", "A user.", "--user")] = None,
    client: Annotated[str | None, _named("CLIENT_ID", "A client id.", "--client")] = None,
    topic: Annotated[
        str | None, _named("TOPIC", "The physical topic that a link leads to.", "--topic")
    ] = None,
    link: Annotated[
        str | None, _named("LINK", "The topic's name in the virtual cluster.", "--link")
    ] = None,
    group: Annotated[str | None, _named("GROUP", "A consumer group.", "--group")] = None,
    transactional_id: Annotated[
        str | None, _named("ID", "A transactional id.", "--transactional-id")
    ] = None,
    copy_acls_from: Annotated[
        str | None,
        _named(
            "SOURCE",
            "Copy the user's ACLs from this virtual cluster, or from kafka-cluster.",
            "--copy-acls-from",
        ),
    ] = None,
    migrate_acls_from: Annotated[
        str | None, _named("SOURCE", "", "--migrate-acls-from", hidden=True)
    ] = None,
    remove_old_acls_from: Annotated[
        str | None,
        _named(
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
        _named("GROUP", "With --group: take over this global group's offsets.", "--adopt"),
    ] = None,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    timeout: Timeout = DEFAULT_TIMEOUT_MS,
    as_: Principal = None,
    dry_run: DryRun = False,
    no_color: NoColor = False,
) -> int:
    """Add one user, client id, link, group or transactional id, or remove one.

    A run makes one change. A link that is there is not led elsewhere: remove it first.

    Example: kgitops vc alter --virtual-cluster emea.sales --add --user jane-doe
    """
    from kgitops.cli.console.streams import print_notice
    from kgitops.cli.running.imperative import run_command
    from kgitops.workflow.commands.virtual_clusters import to_add, to_remove

    if add == remove:
        raise UsageError("give --add or --remove, one of the two")
    if migrate_acls_from and copy_acls_from:
        raise UsageError("--migrate-acls-from is the old name of --copy-acls-from; give one")
    if migrate_acls_from:
        print_notice("kgitops: --migrate-acls-from is deprecated; write --copy-acls-from")
    words = _member(
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
    only_added = words.copy_acls_from or words.remove_old_acls_from or move or adopt
    if remove and only_added:
        raise UsageError(
            "--copy-acls-from, --remove-old-acls-from, --move and --adopt belong to --add; drop "
            "them, or add"
        )
    return run_command(
        Reach(
            cluster=cluster,
            bootstrap_server=bootstrap_server,
            command_config=command_config,
            principal=as_,
        ),
        Manner(timeout_ms=timeout, dry_run=dry_run, no_color=no_color),
        lambda state: (to_add if add else to_remove)(words, state),
        f"The virtual cluster {virtual_cluster} has {words.shown} already.",
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
) -> "MemberWords":
    """The one member that is meant (VC-272).

    Raises:
        UsageError: none is named, or more than one.
    """
    from kgitops.model.resources.virtual_clusters import EntityType
    from kgitops.workflow.commands.member_options import MemberWords

    named = {
        EntityType.USER: user,
        EntityType.CLIENT_ID: client,
        EntityType.TOPIC: link or topic,
        EntityType.GROUP: group,
        EntityType.TRANSACTIONAL_ID: transactional_id,
    }
    given = [kind for kind, name in named.items() if name is not None]
    if len(given) != 1:
        raise UsageError(f"give exactly one of {_WHAT}")
    (entity_type,) = given
    if (copy_acls_from or remove_old_acls_from) and entity_type is not EntityType.USER:
        raise UsageError("only a user has ACLs; give --user, or leave out the flags about ACLs")
    if move and entity_type not in (EntityType.USER, EntityType.CLIENT_ID):
        raise UsageError("only a user or a client id can be moved; drop --move")
    if adopt and entity_type is not EntityType.GROUP:
        raise UsageError("--adopt belongs to --group; give both")
    return MemberWords(
        virtual_cluster=virtual_cluster,
        entity_type=entity_type,
        name=link if entity_type is EntityType.TOPIC else named[entity_type],
        topic=topic,
        copy_acls_from=copy_acls_from,
        remove_old_acls_from=remove_old_acls_from,
        move=move,
        adopt=adopt,
    )
