"""Policies that tests of large states judge by."""

from pathlib import Path

from kgitops.policy.evaluate.bundle import (
    CelPolicy,
    CelValidation,
    Level,
    PythonPolicy,
    RequestMatch,
)

PROJECT = Path(__file__).parent / "project"


def telling(class_: str, level: Level = Level.INFO, **configs: str) -> PythonPolicy:
    return PythonPolicy(
        name=class_,
        level=level,
        digest="",
        class_=f"telling:{class_}",
        folder=PROJECT,
        configs=configs,
    )


def packed(class_: str, **configs: str) -> PythonPolicy:
    name = f"kgitops.policies:{class_}"
    return PythonPolicy(name=class_, level=Level.HARD, digest="", class_=name, configs=configs)


def cel(name: str, expression: str, *requests: str) -> CelPolicy:
    return CelPolicy(
        name=name,
        level=Level.HARD,
        digest="",
        match=RequestMatch(requests=requests),
        validations=(CelValidation(expression=expression),),
    )
