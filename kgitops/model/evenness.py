"""Evens out loads by exchanging, in single choices, a chosen broker for a spare one."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Choice:
    """Which of some brokers are chosen, and which could be instead."""

    chosen: list[int]
    spare: list[int]


Allowed = Callable[[int, int, int], bool]
"""Whether in the choice of this index the first broker may be exchanged for the second."""

_Path = tuple[tuple[int, int, int], ...]


def even_out(
    loads: Counter[int], choices: Sequence[Choice], brokers: Collection[int], allowed: Allowed
) -> None:
    """Exchange brokers in ``choices``, and count it in ``loads``, while a chain of exchanges helps.

    Each chain takes one load from a broker and gives it to one that has at least two fewer.
    """
    blocked: set[int] = set()
    while candidates := [id_ for id_ in sorted(brokers) if id_ not in blocked]:
        fullest = max(candidates, key=lambda id_: loads[id_])
        if loads[fullest] - min(loads[id_] for id_ in brokers) <= 1:
            return
        path = _path(loads, choices, brokers, allowed, fullest)
        if path is None:
            blocked.add(fullest)
            continue
        for index, old, new in path:
            choice = choices[index]
            choice.chosen[choice.chosen.index(old)] = new
            choice.spare[choice.spare.index(new)] = old
        loads[fullest] -= 1
        loads[path[-1][2]] += 1


def _path(
    loads: Counter[int],
    choices: Sequence[Choice],
    brokers: Collection[int],
    allowed: Allowed,
    start: int,
) -> _Path | None:
    chosen_by: dict[int, list[int]] = {}
    for index, choice in enumerate(choices):
        for id_ in choice.chosen:
            chosen_by.setdefault(id_, []).append(index)
    seen = {start}
    queue: deque[tuple[int, _Path]] = deque([(start, ())])
    while queue:
        old, path = queue.popleft()
        used = {index for index, _, _ in path}
        for index in chosen_by.get(old, ()):
            for new in choices[index].spare if index not in used else ():
                if new in seen or new not in brokers or not allowed(index, old, new):
                    continue
                longer = (*path, (index, old, new))
                if loads[start] - loads[new] > 1:
                    return longer
                seen.add(new)
                queue.append((new, longer))
    return None
