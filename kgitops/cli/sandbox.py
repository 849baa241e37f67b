"""``kgitops sandbox``: a real Apache Kafka on this machine."""

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

    with stages(no_color=no_color) as stage:
        started, was_running = start_service(
            service_home(name), brokers=int(brokers), sasl=sasl, on_stage=stage
        )
    joined = (
        f"Joined the sandbox {name}, which runs already: what is in it stays, and stopping it ends "
        "it for everyone who uses it.\nOne of your own: kgitops sandbox start --name NAME"
    )
    print_result(joined if was_running else "Kafka is ready.")
    print_result(_how_to_reach(started, name))


@sandbox.command()
def status(name: Name = "sandbox") -> int:
    """Say whether it runs; exit 1 when it does not.

    Example: kgitops sandbox status
    """
    from kgitops.cli.running.streams import print_result
    from kgitops.sandbox.service import load, service_home

    running_sandbox = load(service_home(name))
    if running_sandbox is None:
        print_result(
            f"{_not_there(name)} Start one with: kgitops sandbox start{_name_option(name)}"
        )
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
            f"Start again with: kgitops sandbox start{_name_option(name)}"
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


def _not_there(name: str) -> str:
    return "There is no sandbox." if name == "sandbox" else f"There is no sandbox {name}."


def _name_option(name: str) -> str:
    return "" if name == "sandbox" else f" --name {name}"


def _how_to_reach(started: "Sandbox", name: str) -> str:
    """The lines for the project file, with secrets as environment variables."""
    from kgitops.sandbox.layout import ADMIN

    lines = [
        "",
        "In kgitops.yaml:",
        "",
        "  clusters:",
        f"    {name}:",
        f'      url: "kafka://{started.servers}"',
    ]
    configs = dict(started.configs)
    password = configs.pop("sasl.password", None)
    if configs:
        lines.append("      configs:")
        lines += [f"        {key}: {value}" for key, value in configs.items()]
    if password:
        others = ", ".join(name for name in started.layout.users if name != ADMIN)
        lines += [
            '        sasl.password: "${env:KAFKA_PASSWORD}"',
            "",
            f"with: export KAFKA_PASSWORD={password}",
            f"Other users, for ACLs: {others}; the password of each is NAME-secret.",
        ]
    else:
        lines += ["", f"Without a project file: kgitops plan PATH -c kafka://{started.servers}"]
    return "\n".join(lines)
