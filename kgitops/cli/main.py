"""The ``kgitops`` command: one file per subcommand, one place that turns errors into exit codes.

Each subcommand imports its work when it runs, so that ``--help`` stays fast.
"""

import sys
import traceback
from collections.abc import Callable

import typer

import kgitops
from kgitops.cli import (
    apply,
    drift,
    export,
    init,
    plan,
    schema,
    show,
    snapshot,
    validate,
)
from kgitops.cli.console import print_error
from kgitops.model.errors import KgitopsError
from kgitops.model.verdict import ExitCode

_EPILOG = "Exit codes: docs/exit-codes.md. Begin with: kgitops init my-project"

app = typer.Typer(
    name="kgitops",
    help="Declare what your Kafka cluster should hold, review the plan, apply exactly that plan.",
    epilog=_EPILOG,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

_COMMANDS: dict[str, Callable[..., int | None]] = {
    "init": init.init,
    "validate": validate.validate,
    "plan": plan.plan,
    "show": show.show,
    "apply": apply.apply,
    "drift": drift.drift,
    "snapshot": snapshot.snapshot,
    "export": export.export,
    "schema": schema.schema,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kgitops {kgitops.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        help="Show the version and exit.",
        callback=_version,
        is_eager=True,
    ),
    debug: bool = typer.Option(
        False,
        "--debug",
        help="Show a traceback where kgitops itself fails.",
    ),
) -> None:
    del version  # handled eagerly by its callback
    _STATE["debug"] = debug


_STATE = {"debug": False}


def run() -> None:
    """The process: no traceback for a user's mistake, and 64 where the command line is at fault."""
    sys.exit(main(sys.argv[1:]))


def main(words: list[str]) -> int:
    """Run one command line and say its exit code."""
    try:
        result = app(words, standalone_mode=False)
    except KgitopsError as error:
        print_error(error)
        return int(error.exit)
    except typer.Exit as done:
        return done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print_error("interrupted before anything was sent; nothing was changed")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout went away (``| head``): what it wanted, it has.
        sys.stderr.close()
        return int(ExitCode.SUCCESS)
    except Exception as error:  # noqa: BLE001 (the last resort says one sentence too)
        return _unexpected(error)
    return result if isinstance(result, int) else int(ExitCode.SUCCESS)


def _unexpected(error: Exception) -> int:
    usage = _usage_sentence(error)
    if usage:
        print_error(usage)
        return int(ExitCode.USAGE)
    if _STATE["debug"]:
        traceback.print_exception(error)
    print_error(
        f"kgitops failed where it should not: {type(error).__name__}: {error}; run again with "
        "kgitops --debug and report what it prints"
    )
    return int(ExitCode.ERROR)


def _usage_sentence(error: Exception) -> str | None:
    """What the command-line parser found wrong, if it was the parser."""
    describe = getattr(error, "format_message", None)
    if describe is None or getattr(error, "exit_code", None) is None:
        return None
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "kgitops"
    return f"{str(describe()).rstrip('.')}; see {path} --help"
