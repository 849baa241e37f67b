"""``kgitops acls``: the flags of kafka-acls, and those that KIP-1134 adds to them."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgitops.cli.running.options import ChangeOptions
from kgitops.cli.running.parameters import SingleValues, with_groups
from kgitops.model.errors import UsageError

if TYPE_CHECKING:
    from kgitops.model.cluster_state import ClusterState


class Pattern(StrEnum):
    """The pattern types of a resource's name; the last two only find ACLs."""

    LITERAL = "literal"
    PREFIXED = "prefixed"
    MATCH = "match"
    ANY = "any"


class ScopePattern(StrEnum):
    """The pattern types of a virtual cluster's name."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class AclFormat(StrEnum):
    """The forms of a list of ACLs."""

    TEXT = "text"
    JSON = "json"


def _list_option(name: str, metavar: str, help_: str) -> Any:  # noqa: ANN401 (as typer.Option itself)
    return typer.Option(name, metavar=metavar, help=help_)


@with_groups
def acls(
    add: Annotated[bool, typer.Option("--add", help="Make the ACLs.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the ACLs.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show ACLs.")] = False,
    allow_principal: Annotated[
        list[str] | None,
        _list_option("--allow-principal", "PRINCIPAL", "Who may. May be repeated."),
    ] = None,
    deny_principal: Annotated[
        list[str] | None,
        _list_option("--deny-principal", "PRINCIPAL", "Who may not. May be repeated."),
    ] = None,
    listed_principal: Annotated[
        list[str] | None, _list_option("--principal", "PRINCIPAL", "With --list: whose ACLs.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, _list_option("--allow-host", "HOST", "From where they may. Default: *.")
    ] = None,
    deny_host: Annotated[
        list[str] | None,
        _list_option("--deny-host", "HOST", "From where they may not. Default: *."),
    ] = None,
    operation: Annotated[
        list[str] | None, _list_option("--operation", "OPERATION", "What. Default: All.")
    ] = None,
    topic: Annotated[list[str] | None, _list_option("--topic", "TOPIC", "On this topic.")] = None,
    group: Annotated[list[str] | None, _list_option("--group", "GROUP", "On this group.")] = None,
    transactional_id: Annotated[
        list[str] | None, _list_option("--transactional-id", "ID", "On this transactional id.")
    ] = None,
    delegation_token: Annotated[
        list[str] | None, _list_option("--delegation-token", "TOKEN", "On this delegation token.")
    ] = None,
    user_principal: Annotated[
        list[str] | None, _list_option("--user-principal", "PRINCIPAL", "On this user's tokens.")
    ] = None,
    on_cluster: Annotated[
        bool, typer.Option("--cluster-resource", help="On the cluster, or the virtual cluster.")
    ] = False,
    producer: Annotated[
        bool, typer.Option("--producer", help="What a producer needs on --topic.")
    ] = False,
    consumer: Annotated[
        bool, typer.Option("--consumer", help="What a consumer needs on --topic and --group.")
    ] = False,
    idempotent: Annotated[
        bool, typer.Option("--idempotent", help="With --producer: idempotent writes, too.")
    ] = False,
    pattern: Annotated[
        Pattern,
        typer.Option(
            "--resource-pattern-type", help="How names are read; match and any only find ACLs."
        ),
    ] = Pattern.LITERAL,
    virtual_cluster: Annotated[
        str | None,
        typer.Option(
            "--virtual-cluster",
            metavar="NAME",
            help="In this virtual cluster, where names are local ones.",
        ),
    ] = None,
    virtual_cluster_pattern: Annotated[
        ScopePattern | None,
        typer.Option(
            "--virtual-cluster-pattern-type",
            help="How the virtual cluster's name is read. Default: literal.",
        ),
    ] = None,
    also_virtual_cluster_pattern: Annotated[
        ScopePattern | None, typer.Option("--virtual-cluster-resource-pattern-type", hidden=True)
    ] = None,
    format_: Annotated[
        AclFormat, typer.Option("--format", help="How --list shows them.")
    ] = AclFormat.TEXT,
    *,
    options: ChangeOptions,
) -> int:
    """Add, remove or list ACLs, also those of virtual clusters.

    What a project manages is changed in its manifests, not here.

    Example: kgitops acls --add --producer --topic a --allow-principal User:b
    """
    from kgitops.cli.running.imperative import read_cluster, run_change
    from kgitops.cli.running.streams import print_result
    from kgitops.model.resources.acls import PatternType
    from kgitops.model.resources.names import is_principal
    from kgitops.report.text.listings import acls_to_json, render_acls
    from kgitops.workflow.commands.acls import (
        AclOptions,
        as_desired,
        bindings_to_add,
        check_scope,
        listed_bindings,
        matching_bindings,
    )
    from kgitops.workflow.commands.imperative import ImperativeChange

    if add + remove + list_ != 1:
        raise UsageError("give one of --add, --remove and --list")
    scope_pattern = virtual_cluster_pattern or also_virtual_cluster_pattern
    if scope_pattern is not None and virtual_cluster is None:
        raise UsageError("--virtual-cluster-pattern-type needs --virtual-cluster; give both")
    if listed_principal and not list_:
        raise UsageError("--principal belongs to --list; write --allow-principal here")
    if format_ is not AclFormat.TEXT and not list_:
        raise UsageError("--format belongs to --list; drop it")
    ignored = {
        "--allow-principal": allow_principal,
        "--deny-principal": deny_principal,
        "--allow-host": allow_host,
        "--deny-host": deny_host,
        "--operation": operation,
        "--producer": producer,
        "--consumer": consumer,
        "--idempotent": idempotent,
        "--dry-run": options.dry_run,
    }
    for flag in (name for name, value in ignored.items() if list_ and value):
        advice = "write --principal" if flag.endswith("-principal") else "drop it"
        raise UsageError(f"{flag} belongs to --add and --remove; {advice}")
    for name in listed_principal or ():
        if not is_principal(name):
            raise UsageError(f"{name!r} is not a principal; write Type:name, as in User:alice")
    acl_options = AclOptions(
        allow_principals=allow_principal or (),
        deny_principals=deny_principal or (),
        allow_hosts=allow_host or (),
        deny_hosts=deny_host or (),
        operations=operation or (),
        topics=topic or (),
        groups=group or (),
        transactional_ids=transactional_id or (),
        delegation_tokens=delegation_token or (),
        user_principals=user_principal or (),
        cluster=on_cluster,
        producer=producer,
        consumer=consumer,
        idempotent=idempotent,
        pattern=pattern.value,
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern=PatternType(scope_pattern or PatternType.LITERAL),
    )
    if list_:
        state = read_cluster(options, scoped_acls=virtual_cluster is not None)
        listed = listed_bindings(acl_options, listed_principal or (), state.acls)
        print_result(acls_to_json(listed) if format_ is AclFormat.JSON else render_acls(listed))
        return 0
    if add:
        creation = ImperativeChange(objects=tuple(map(as_desired, bindings_to_add(acl_options))))

        def make_change(state: "ClusterState") -> ImperativeChange:
            check_scope(acl_options, state)
            return creation

        return run_change(options, make_change, "These ACLs are there already.")
    return run_change(
        options,
        lambda state: ImperativeChange(
            removed=tuple(map(as_desired, matching_bindings(acl_options, state.acls)))
        ),
        "No such ACL is there.",
    )


app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.command("acls", cls=SingleValues)(acls)
