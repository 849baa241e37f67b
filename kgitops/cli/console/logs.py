"""What the Kafka clients and kgitops itself log, for whoever asks to see it."""

import logging
import sys
from enum import StrEnum


class LogLevel(StrEnum):
    """How much of it is shown."""

    WARNING = "warning"
    DEBUG = "debug"


# kafka-python's own level debug shows every byte it sends, passwords included.
_LEVELS = {"kgitops": logging.DEBUG, "kafka": logging.INFO}


def show_logs(level: LogLevel) -> None:
    """Write log lines to stderr, if that is asked for; else nothing is shown."""
    if level is not LogLevel.DEBUG:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, least in _LEVELS.items():
        logger = logging.getLogger(name)
        logger.setLevel(least)
        logger.addHandler(handler)
