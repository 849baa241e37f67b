"""A process that runs tasks on Spark, as a JSON file tells it; the result goes to another."""

import json
import sys
from pathlib import Path

from fleet.spark import spark_work
from msgspec import structs

from kgitops.cli.running.signals import InterruptedRunError, stop_on_signals
from kgitops.fleet.spark.engine import TaskProgress
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.model.errors import KgitopsError


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    progress: list[TaskProgress] = []
    answers: list[str] = []
    error: KgitopsError | InterruptedRunError | None = None
    stop_on_signals()
    try:
        work = getattr(spark_work, order["work"])
        early = work if order["warm"] else None
        with session(order["master"], order["remote"], order["conf"], work=early) as spark:
            if early:
                spark.engine()
            patience = order["first_task_timeout_s"]
            specs = order["specs"]
            answers = list(
                run_tasks(spark, specs, work, progress.append, first_task_timeout_s=patience)
            )
    except (KgitopsError, InterruptedRunError) as raised:
        error = raised
    result = {
        "answers": answers,
        "error": None if error is None else str(error),
        "kind": None if error is None else type(error).__name__,
        "progress": [structs.astuple(step) for step in progress],
    }
    Path(order["result"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
