"""Writing the journal: an intent before every wire batch, an outcome after it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgitops.apply.journal.records import batch_record, closing_records, header_record
from kgitops.apply.lock.lock import Lock
from kgitops.apply.steps.runs import Batch, Outcome, Run, RunStatus, StepRecord
from kgitops.apply.steps.steps import Step
from kgitops.cluster.registry import Record


class Journal:
    """The journal of one run, whose records go out with the first intent."""

    def __init__(self, lock: Lock, run: Run, opening: Sequence[Record] = ()) -> None:
        self._lock = lock
        self._run = run
        self._opening = tuple(opening)

    @property
    def run(self) -> Run:
        """The run as it stands in the journal."""
        return self._run

    def intend(self, batches: Sequence[Sequence[Step]]) -> None:
        """Write that these batches are about to be sent.

        Raises:
            LockedError: the lock is lost, so nothing may be sent.
        """
        self._write([self._new_batch(steps) for steps in batches], ())

    def settle(self, known: Mapping[str, StepRecord], owners: Sequence[Record]) -> None:
        """Write what became of steps, and who owns what their changes completed, as one.

        A step that was never begun has no batch, and so nothing is written about it.
        """
        changed = []
        for batch in self._latest_batches(known):
            mine = {step: known[step] for step in batch.requests if step in known}
            changed.append(replace(batch, results={**batch.results, **mine}))
        if changed:
            self._write(changed, owners)

    def record(self, steps: Sequence[Step], owners: Sequence[Record]) -> None:
        """Write changes that only the registry records: the write is the change."""
        done = {step.id: StepRecord(outcome=Outcome.DONE) for step in steps}
        self._write([replace(self._new_batch(steps), results=done)], owners)

    def close(self, status: RunStatus) -> None:
        """Write how the run ended and release the lock, as one."""
        if self._opening:
            self._lock.close([])
        elif status is RunStatus.DONE:
            self._lock.close(closing_records(self._run, status))
        else:
            self._lock.close([header_record(replace(self._run, status=status))])

    def _new_batch(self, steps: Sequence[Step]) -> Batch:
        batch = Batch(
            number=self._run.next_number,
            api=steps[0].api,
            requests=tuple(step.id for step in steps),
        )
        self._run = replace(self._run, batches=(*self._run.batches, batch))
        return batch

    def _latest_batches(self, known: Mapping[str, StepRecord]) -> Sequence[Batch]:
        latest = {step: batch for batch in self._run.batches for step in batch.requests}
        return list(
            {latest[step].number: latest[step] for step in known if step in latest}.values()
        )

    def _write(self, batches: Sequence[Batch], owners: Sequence[Record]) -> None:
        records = [batch_record(self._run, batch) for batch in batches]
        self._lock.append([*self._opening, *records, *owners])
        self._opening = ()
        written = {batch.number: batch for batch in batches}
        self._run = replace(
            self._run,
            batches=tuple(written.get(batch.number, batch) for batch in self._run.batches),
        )
