"""The ``kgitops`` command: all subcommands, and one place that turns errors into exit codes.

A subcommand imports its work when it runs, so that ``--help`` stays fast.
"""

import os
import signal
import sys
from collections.abc import Sequence
from functools import cache
from io import TextIOWrapper
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.main import get_command

import kgitops
from kgitops.cli.running.errors import annotate, refuse, unexpected, usage_error
from kgitops.cli.running.late import late
from kgitops.cli.running.signals import InterruptedRunError, stop_on_signals
from kgitops.cli.running.streams import LogLevel, print_notice, show_logs
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.verdict import ExitCode

_WIDEST_HELP = 120

app = typer.Typer(
    name="kgitops",
    help="Declare what your Kafka cluster should hold, review the plan, apply exactly that plan.",
    epilog="Begin with: kgitops init my-project. Variables: KGITOPS_CLUSTER, KGITOPS_PROJECT, "
    "NO_COLOR, FORCE_COLOR.",
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST_HELP},
    pretty_exceptions_enable=False,
)

# Their place, and the first paragraph of their help: --help imports none of them.
COMMANDS = {
    "init": ("project:init", "Start a new project."),
    "validate": (
        "project:validate",
        "Check manifests without a cluster, for every cluster of the project.",
    ),
    "plan": ("plan:plan", "Show exactly what an apply would do."),
    "show": ("plan:show", "Show a saved plan again, in any format."),
    "apply": ("apply:apply", "Execute a saved plan, or plan, ask and execute."),
    "drift": ("plan:drift", "Show what others changed since the last apply."),
    "explain": ("explain:explain", "Show where each value of a declared object is written."),
    "diff": (
        "diff:diff",
        "Show what differs between two snapshots, saved plans or runs of a fleet.",
    ),
    "snapshot": ("export:snapshot", "Write the cluster's state to a file."),
    "export": ("export:export", "Write a cluster as manifests."),
    "convert": (
        "convert:convert",
        "Write a project that declares what another tool's files declare.",
    ),
    "catalogue": ("catalogue:catalogue", "Write a page of what is declared."),
    "schema": (
        "project:schema",
        "Print the JSON Schema of a kind, or of all; or write every schema as a file.",
    ),
    "serve": ("serve:serve", "Let any Kafka client use an embedded cluster."),
    "gateway": (
        "gateway.app:gateway",
        "Stand between ordinary Kafka clients and a Kafka, and translate names.",
    ),
    "reconcile": (
        "reconcile.app:reconcile",
        "Plan again and again, and apply what may be applied without a person.",
    ),
    "acls": ("acls:app", "Add, remove or list ACLs, also those of virtual clusters."),
}
GROUPS = {
    "fleet": ("fleet.app:fleet", "Plan many clusters at once, and show what came of it."),
    "policy": (
        "policy:policy",
        "List, explain and test the project's policies, and audit a cluster by them.",
    ),
    "registry": (
        "registry:registry",
        "The records on the cluster of who owns what: checked, repaired, released, saved.",
    ),
    "sandbox": (
        "sandbox:sandbox",
        "Run a real Apache Kafka on this machine, to try things out.",
    ),
    "vc": ("vc.app:vc", "Make, change, show and delete virtual clusters (KIP-1134)."),
}


def _declared() -> None:
    """Of the function of a command typer asks for its parameters; a late one shows none."""


for _name, (_place, _help) in {**COMMANDS, **GROUPS}.items():
    app.command(_name, cls=late(f"kgitops.cli.{_place}"), help=_help)(_declared)

_STDOUT, _STDERR = 1, 2


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kgitops {kgitops.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback where kgitops itself fails.")
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option("--log-level", help="debug: what the Kafka clients log too, on stderr."),
    ] = LogLevel.WARNING,
) -> None:
    show_logs(log_level)
    del version, debug  # the one is handled by its callback, the other in main()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(int(ExitCode.USAGE))


def run() -> None:
    """Run the process to its exit."""
    stop_on_signals()
    _prepare_streams()
    sys.exit(main(sys.argv[1:]))


def main(words: Sequence[str]) -> int:
    """Run one command line; the exit code. A user's mistake never gives a traceback."""
    if "" in words:
        # An unset variable of the shell, more often than not; as a path it would mean "here".
        empty = UsageError("an argument is empty; is a variable of the shell not set?")
        return _refuse(empty, words)
    try:
        result = _command().main(_normalized(words), prog_name="kgitops", standalone_mode=False)
    except KgitopsError as error:
        return _refuse(error, words)
    except InterruptedRunError as stopped:
        return _interrupted(stopped.number)
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted(signal.SIGINT)
    except typer.Exit as done:
        return done.exit_code
    except OSError as error:
        return _refuse(_path_error(error), words)
    except ModuleNotFoundError as error:
        from kgitops.model.origin import missing_extra

        missing = missing_extra(error)
        if missing:
            return _refuse(missing, words)
        return unexpected(error, words, as_json=_asks_for(words, "json"))
    except Exception as error:  # noqa: BLE001 (the last resort is a sentence too)
        usage = usage_error(error, words)
        if usage:
            return _refuse(usage, words)
        return unexpected(error, words, as_json=_asks_for(words, "json"))
    return result if isinstance(result, int) else int(ExitCode.SUCCESS)


@cache
def _command() -> Any:  # noqa: ANN401 (click's own)
    """All of kgitops, built once however many command lines this process runs."""
    return get_command(app)


def _normalized(words: Sequence[str]) -> list[str]:
    """The words, with the commands ``help [COMMAND]`` and ``version`` as the options of kgitops."""
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return ["--version"] if words == ["version"] else list(words)


def _refuse(error: KgitopsError, words: Sequence[str]) -> int:
    if _asks_for(words, "github"):
        annotate(error)
    return refuse(error, as_json=_asks_for(words, "json"))


def _asks_for(words: Sequence[str], format_: str) -> bool:
    """True if the words ask for this format, also where they can't be parsed otherwise."""
    return ("--format", format_) in pairwise(words) or f"--format={format_}" in words


def _path_error(error: OSError) -> KgitopsError:
    """The error for a path that can't be a file's, or a file that vanished after it was found."""
    reason = (error.strerror or str(error)).lower()
    return KgitopsError(f"{error.filename or 'a file'}: {reason}; correct the path")


def _interrupted(number: int) -> int:
    print_notice("kgitops: interrupted while no request was on its way")
    is_sigint = number == signal.SIGINT
    return int(ExitCode.INTERRUPTED if is_sigint else ExitCode.TERMINATED)


def _prepare_streams() -> None:
    """Replace closed streams by ones that discard, and let streams escape what they can't show."""
    # No file that is opened later may get a closed stream's number, and then its text.
    while (spare := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(spare)
    sys.stdout = sys.stdout or os.fdopen(_STDOUT, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_STDERR, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
