"""``kgitops sandbox``: a real Apache Kafka on this machine."""

import os
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import NoColor
from kgitops.model.verdict import ExitCode

if TYPE_CHECKING:
    from kgitops.sandbox.running import Sandbox

sandbox = typer.Typer(
    help="Run a real Apache Kafka on this machine, to try things out.",
    add_completion=False,
    rich_markup_mode=None,
)


class Brokers(StrEnum):
    """The possible numbers of brokers."""

    ONE = "1"
    THREE = "3"


Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Which one, where there are several.")
]


@sandbox.command()
def start(
    brokers: Annotated[Brokers, typer.Option(help="How many brokers.")] = Brokers.ONE,
    sasl: Annotated[bool, typer.Option("--sasl", help="Have clients log in.")] = False,
    name: Name = "sandbox",
    no_color: NoColor = False,
) -> None:
    """Start it, and say how to reach it.

    The first start on a machine downloads Kafka. Brokers listen on loopback only. One that runs
    already is joined, with all that is in it.

    Example: kgitops sandbox start --brokers 3
    """
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.streams import print_result
    from kgitops.sandbox.service import service_home, start_service

    with stages(no_color=no_color, as_lines=True) as stage:
        started = start_service(service_home(name), brokers=int(brokers), sasl=sasl, on_stage=stage)
    joined = (
        f"Joined the sandbox {name}, which runs already: what is in it stays, and stopping it ends "
        "it for everyone who uses it.\nOne of your own: kgitops sandbox start --name NAME"
    )
    print_result(joined if started.was_running else "Kafka is ready.")
    if started.busy_ports:
        print_result(_busy(started.busy_ports))
    print_result(_how_to_reach(started.sandbox, name))


@sandbox.command()
def status(name: Name = "sandbox") -> int:
    """Say whether it runs; exit 1 when it does not.

    Example: kgitops sandbox status
    """
    from kgitops.cli.running.streams import print_result
    from kgitops.sandbox.service import load, name_option, service_home

    running_sandbox = load(service_home(name))
    if running_sandbox is None:
        print_result(f"{_not_there(name)} Start one with: kgitops sandbox start{name_option(name)}")
    elif running_sandbox.running == running_sandbox.broker_ids:
        print_result(f"It runs.\n{_how_to_reach(running_sandbox, name)}")
        return int(ExitCode.SUCCESS)
    else:
        dead = sorted(set(running_sandbox.broker_ids) - set(running_sandbox.running))
        which = (
            "No broker runs" if not running_sandbox.running else f"Broker {dead[0]} does not run"
        )
        print_result(
            f"{which}; its log is {running_sandbox.log(dead[0])}, and the data is still there.\n"
            f"Start again with: kgitops sandbox start {running_sandbox.start_options}"
            f"{name_option(name)}"
        )
    return int(ExitCode.ERROR)


@sandbox.command()
def stop(
    keep: Annotated[bool, typer.Option("--keep", help="Keep its data for the next start.")] = False,
    name: Name = "sandbox",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", "--auto-approve", help="Don't ask before it ends.")
    ] = False,
) -> int:
    """Stop it and delete its data.

    Example: kgitops sandbox stop --yes
    """
    from kgitops.cli.running.streams import agreed, print_notice, print_result
    from kgitops.sandbox.service import load, service_home, stop_service

    home = service_home(name)
    if load(home) is not None and not yes:
        what = "Stop it for everyone who uses it?" if keep else "Stop it, and delete its data?"
        if not agreed(f"The sandbox {name}: {what}", otherwise="pass --yes"):
            print_notice("Not stopped; it is as it was.")
            return int(ExitCode.ERROR)
    stopped = stop_service(home, keep=keep)
    if stopped is None:
        print_result(_not_there(name))
    elif keep:
        print_result(f"Stopped. Its data is in {stopped.home}; start it again with it.")
    else:
        print_result("Stopped, and its data deleted.")
    return int(ExitCode.SUCCESS)


@sandbox.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
def tool(
    tool_name: Annotated[
        str, typer.Argument(metavar="TOOL", help="Kafka's name of it, such as kafka-topics.")
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGS]...", help="The tool's own arguments.")
    ] = None,
    name: Name = "sandbox",
) -> None:
    """Run one of Kafka's own tools on it, as its administrator.

    Options of this command go before TOOL. The tool is given the address and the login.

    Example: kgitops sandbox tool kafka-topics --describe --topic orders
    """
    from kgitops.sandbox.service import find_running
    from kgitops.sandbox.tools import tool_command

    command = tool_command(find_running(name), tool_name, arguments or [])
    # The tool takes the place of this process: its signals, streams and exit code are its own.
    os.execv(command[0], command)  # noqa: S606 (no shell, and the program is the sandbox's Java)


def _busy(ports: Sequence[int]) -> str:
    """The sentences about ports that the sandbox would have, but for another program."""
    *others, last = map(str, ports)
    listed = f"Ports {', '.join(others)} and {last} are" if others else f"Port {last} is"
    return (
        f"{listed} in use by another program, so the sandbox listens on others. A kafka:// URL "
        "with such a port leads to that program; the URL below always leads to the sandbox."
    )


def _not_there(name: str) -> str:
    return "There is no sandbox." if name == "sandbox" else f"There is no sandbox {name}."


def _how_to_reach(started: "Sandbox", name: str) -> str:
    """The lines for the project file and for other clients; the password is no secret."""
    from kgitops.model.resources.names import DEFAULT_SANDBOX
    from kgitops.sandbox.layout import ADMIN
    from kgitops.sandbox.service import name_option

    url = f"sandbox:{'' if name == DEFAULT_SANDBOX else name}"
    configs = {"bootstrap.servers": started.servers, **started.configs}
    lines = [
        "",
        "In kgitops.yaml:",
        "",
        "  clusters:",
        f"    {name}:",
        f'      url: "{url}"',
        "",
        f"Without it: kgitops plan PATH -c {url}",
        "(add --variables-of NAME for the variables of a cluster of the project)",
        "",
        f"Kafka's own tools: kgitops sandbox tool{name_option(name)} kafka-topics --list",
        "",
        "For other clients:",
        "",
        *(f"  {key}={value}" for key, value in configs.items()),
    ]
    others = ", ".join(user for user in started.layout.users if user != ADMIN)
    if others:
        lines += ["", f"Other users, for ACLs: {others}; the password of each is NAME-secret."]
    return "\n".join(lines)
