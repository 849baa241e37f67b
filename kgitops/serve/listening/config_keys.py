"""Reads single configs by Kafka's keys; every problem becomes one sentence, and all are kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path


class BrokerConfigReader:
    """The configs of a broker as one of its listeners has them, and the problems so far.

    ``listener.name.NAME.KEY`` stands above ``KEY``.
    """

    def __init__(self, configs: Mapping[str, str], listener: str, folder: Path) -> None:
        self._configs = configs
        self._prefix = f"listener.name.{listener.lower()}."
        self._folder = folder
        self.problems: list[str] = []

    def key(self, key: str) -> str:
        """The key as it is written in the configs, for messages."""
        return self._prefix + key if self._prefix + key in self._configs else key

    def text(self, key: str) -> str | None:
        """The value of a key; None if it is not set, or empty."""
        value = self._configs.get(self._prefix + key, self._configs.get(key))
        return value.strip() or None if value is not None else None

    def words(self, key: str) -> tuple[str, ...]:
        """The values of a key that are separated by commas."""
        text = self.text(key) or ""
        return tuple(filter(None, (item.strip() for item in text.split(","))))

    def number(self, key: str, default: int, *, least: int = 0, most: int = 2**31 - 1) -> int:
        """The whole number of a key."""
        text = self.text(key)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            self.refuse(key, f"must be a whole number from {least} to {most}, not {text!r}")
            return default
        return number

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """The value of a key that must be one of several words."""
        text = self.text(key)
        if text is None:
            return default
        if text not in choices:
            self.refuse(key, f"must be one of {', '.join(choices)}, not {text!r}")
            return default
        return text

    def file(self, key: str) -> str | None:
        """The content of the file that a key names."""
        name = self.text(key)
        if name is None:
            return None
        try:
            return (self._folder / Path(name).expanduser()).read_text(encoding="ascii")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self.refuse(key, f"names the file {name}, which can't be read ({reason}); correct it")
        except UnicodeDecodeError:
            self.refuse(key, f"names the file {name}, which is no PEM; convert it to PEM")
        return None

    def own_key(self, key: str) -> str:
        """The key of this listener alone."""
        return self._prefix + key

    def refuse(self, key: str, problem: str) -> None:
        """Keep a problem of a key; it is the rest of the sentence that the key begins."""
        self.problems.append(f"{self.key(key)} {problem}")
