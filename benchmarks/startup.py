"""Start-up: --help, the imports of a plan, a small plan, and a first apply, side by side.

kgitops is installed without development packages into an environment of its own, which this script
makes with uv and removes; so are sandboxes of one broker. The least of several rounds counts: in
each round everything runs in turn.

    uv run python benchmarks/startup.py
    uv run python benchmarks/startup.py --rounds 20 --applies 5
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from kafka import MEMORY, sandbox, write
from processes import run

FLOOR = Path(__file__).with_name("floor_start.py")
LISTING = """
import sys
from kgitops.cli.main import main
known = set(sys.modules)
main(sys.argv[2:])
names = [name for name in sys.modules if name not in known or name.startswith("kgitops")]
open(sys.argv[1], "w").write("\\n".join(names))
"""
IMPORTING = """
import gc
import sys
from importlib import import_module
gc.set_threshold(1_000_000)  # as kgitops does
for name in open(sys.argv[1]).read().split():
    if name not in sys.modules:
        try:
            import_module(name)
        except ImportError:
            pass  # made by another module, such as six.moves
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--applies", type=int, default=3, help="each on a broker of its own")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        home = Path(folder)
        python = install(home / "installed")
        starts = starts_of(home, python, given.rounds)
        applies = [first_apply(home / f"apply-{at}", python) for at in range(given.applies)]
    floor = starts["confluent-kafka: import, connect, read"]
    print("| process | CPU s | x floor | CPU s without bytecode | x floor |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, (cached, compiled) in starts.items():
        print(
            f"| {name} | {cached:.3f} | {cached / floor[0]:.1f} "
            f"| {compiled:.3f} | {compiled / floor[1]:.1f} |"
        )
    planned, applied = (min(walls) for walls in zip(*applies, strict=True))
    print(
        f"\nOne topic on a new cluster: plan {planned:.2f} s, apply {applied:.2f} s (wall), "
        f"so an apply takes {applied - planned:.2f} s more"
    )


def install(place: Path) -> str:
    """An environment with kgitops and what it needs; its Python."""
    python = str(place / "bin" / "python")
    root = Path(__file__).parents[1]
    subprocess.run(["uv", "venv", "-q", "--python", sys.executable, str(place)], check=True)
    subprocess.run(["uv", "pip", "install", "-q", "--python", python, str(root)], check=True)
    looked = "import importlib.util; assert importlib.util.find_spec('hypothesis') is None"
    subprocess.run([python, "-P", "-c", looked], check=True)
    return python


def starts_of(home: Path, python: str, rounds: int) -> dict[str, tuple[float, float]]:
    """The least CPU seconds of each process, with bytecode and without."""
    project, names = home / "project", home / "names"
    with sandbox(home / "kafka") as servers:
        write(project, servers, 1, 1)
        plan = ["plan", str(project)]
        run(["-P", "-m", "kgitops", "apply", str(project), "--auto-approve"], python=python)
        run(["-P", "-c", LISTING, str(names), *plan], python=python)
        processes = {
            "Python alone": ["-c", "pass"],
            "`kgitops --help`": ["-m", "kgitops", "--help"],
            "all that the plan imports": ["-c", IMPORTING, str(names)],
            "confluent-kafka: import, connect, read": [str(FLOOR), servers],
            "`kgitops plan` of one topic": ["-m", "kgitops", *plan],
        }
        for words in processes.values():
            run(["-P", *words], python=python)  # makes the bytecode
        return {
            name: (min(times[name, True]), min(times[name, False]))
            for times in [_rounds(processes, python, rounds)]
            for name in processes
        }


def _rounds(
    processes: dict[str, list[str]], python: str, rounds: int
) -> dict[tuple[str, bool], list[float]]:
    times: dict[tuple[str, bool], list[float]] = {}
    for _ in range(rounds):
        for bytecode in (True, False):
            for name, words in processes.items():
                done = run(["-P", *words], python=python, bytecode=bytecode)
                times.setdefault((name, bytecode), []).append(done.cpu)
    return times


def first_apply(home: Path, python: str) -> tuple[float, float]:
    """Wall seconds of a plan and of an apply of it, on a cluster without a registry."""
    with sandbox(home / "kafka") as servers:
        write(home / "project", servers, 1, 1)
        project = str(home / "project")
        planned = run(["-P", "-m", "kgitops", "plan", project], python=python)
        words = ["-P", "-m", "kgitops", "apply", project, "--auto-approve"]
        return planned.wall, run(words, python=python).wall


if __name__ == "__main__":
    main()
