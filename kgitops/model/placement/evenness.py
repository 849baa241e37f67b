"""Evens out loads by exchanging, in single choices, a chosen broker for a spare one."""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Choice:
    """Which of some brokers are chosen, and which could be instead."""

    chosen: list[int]
    spare: list[int]


Allowed = Callable[[int, int, int], bool]
"""Whether in the choice of this index the first broker may be exchanged for the second."""

_Chain = tuple[tuple[int, int, int], ...]


def is_even(loads: Mapping[int, int], brokers: Collection[int]) -> bool:
    """Whether no broker has two more than another, as nearly every topic is placed."""
    found = [loads[id_] for id_ in brokers]
    return not found or max(found) - min(found) <= 1


def even_out(
    loads: dict[int, int], choices: Sequence[Choice], brokers: Collection[int], allowed: Allowed
) -> None:
    """Exchange brokers in ``choices``, and count it in ``loads``, while a chain of exchanges helps.

    Each chain takes one load from a broker and gives it to one that has at least two fewer.
    """
    if is_even(loads, brokers):
        return
    chosen_in: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for index, choice in enumerate(choices):
        for id_ in choice.chosen:
            chosen_in[id_][index] = None
    candidates = set(brokers)
    while candidates:
        fullest = max(sorted(candidates), key=lambda id_: loads[id_])
        if loads[fullest] - min(loads[id_] for id_ in brokers) <= 1:
            return
        before: dict[int, _Chain] = {fullest: ()}
        chain = _chain(loads, choices, chosen_in, before, allowed)
        if chain is None:
            # None of the brokers that were passed is fuller, so none of them gets further.
            candidates -= before.keys()
            continue
        for index, old, new in chain:
            choice = choices[index]
            choice.chosen[choice.chosen.index(old)] = new
            choice.spare[choice.spare.index(new)] = old
            del chosen_in[old][index]
            chosen_in[new][index] = None
        loads[fullest] -= 1
        loads[chain[-1][2]] += 1


def _chain(
    loads: dict[int, int],
    choices: Sequence[Choice],
    chosen_in: dict[int, dict[int, None]],
    chains: dict[int, _Chain],
    allowed: Allowed,
) -> _Chain | None:
    """The shortest chain that helps; ``chains`` has the start, and takes up all that was passed."""
    (start,) = chains
    queue = deque([start])
    while queue:
        old = queue.popleft()
        used = {index for index, _, _ in chains[old]}
        for index in chosen_in.get(old, ()):
            for new in choices[index].spare if index not in used else ():
                if new not in chains and allowed(index, old, new):
                    chains[new] = (*chains[old], (index, old, new))
                    if loads[start] - loads[new] > 1:
                        return chains[new]
                    queue.append(new)
    return None
