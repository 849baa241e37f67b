"""The loggers of a broker and their levels: those of this process, which all its brokers share."""

import logging
from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.effective.entries import ConfigEntry, ConfigSource, by_key
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.results import ErrorCode

_ROOT = "root"
_LOGGERS = ("kgitops", "kgitops.cluster.embedded", "kgitops.policy", "kgitops.serve", _ROOT)
# org.apache.kafka.common.config.LogLevelConfig
_LEVELS: Mapping[str, int] = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_WORDS = {level: word for word, level in _LEVELS.items()}


def logger_entries() -> dict[str, ConfigEntry]:
    """The levels of all loggers."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return by_key([ConfigEntry(key=name, value=_level(name), source=source) for name in _LOGGERS])


def check_level(name: str, level: str | None) -> None:
    """Refuse a logger that does not exist, or a level that it can't have; None removes its own.

    Raises:
        Refusal: there is such a mistake (40, 42).
    """
    if name not in _LOGGERS:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if level is None:
        if name == _ROOT:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"Removing the log level of the {_ROOT} logger is not allowed",
            )
    elif level not in _LEVELS:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}",
        )


def set_levels(levels: Sequence[tuple[str, str | None]]) -> None:
    """Give loggers these levels; None removes a logger's own."""
    for name, level in levels:
        _logger(name).setLevel(logging.NOTSET if level is None else _LEVELS[level])


def _level(name: str) -> str:
    level = _logger(name).getEffectiveLevel()
    return _WORDS.get(level) or next(
        (word for word, bound in _LEVELS.items() if level <= bound), "FATAL"
    )


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == _ROOT else name)
