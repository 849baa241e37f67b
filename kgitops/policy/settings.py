"""The configs of a policy, declared once: read, checked and documented from one line each.

::

    class PartitionRange(Configured, BaseTopicPolicy):
        max = Setting(whole, "the most partitions of a topic")

A setting is an attribute; its config is the attribute's name in camelCase.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from kgitops.model.wording import nearest
from kgitops.policy.api.interfaces import Configurable

T = TypeVar("T")


class Setting(Generic[T]):
    """One config: ``read`` makes its value of the text, ``meaning`` is for the documentation.

    Without a ``default`` it is required.
    """

    def __init__(
        self, read: Callable[[str], T], meaning: str, default: str | None = None, *, key: str = ""
    ) -> None:
        self.read = read
        self.meaning = meaning
        self.default = default
        self.key = key

    @property
    def required(self) -> bool:
        """True without a default."""
        return self.default is None

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name
        first, *others = name.split("_")
        self.key = self.key or first + "".join(other.capitalize() for other in others)

    @overload
    def __get__(self, policy: None, owner: type) -> "Setting[T]": ...

    @overload
    def __get__(self, policy: object, owner: type) -> T: ...

    def __get__(self, policy: object | None, owner: type) -> "Setting[T] | T":
        # Only until configure has put the value into the policy's own attributes.
        return self if policy is None else self.value({})

    def value(self, configs: Mapping[str, str]) -> T:
        """The value in ``configs``, else the default.

        Raises:
            ValueError: it is missing, or nonsense.
        """
        text = configs.get(self.key, self.default)
        if text is None:
            raise ValueError(f"{self.key} is missing (write {self.meaning})")
        try:
            return self.read(text)
        except ValueError as error:
            raise ValueError(f"{self.key}: {error}") from None


class _Optional(Setting[T | None]):
    required = False

    def value(self, configs: Mapping[str, str]) -> T | None:
        return super().value(configs) if self.key in configs else None


def optional(read: Callable[[str], T], meaning: str, *, key: str = "") -> Setting[T | None]:
    """A setting that is None where nothing is given."""
    return _Optional(read, meaning, key=key)


class Configured(Configurable):
    """A policy whose configs are its settings; any other config is an error.

    In Python the configs may be given when it is made: ``PartitionRange({"max": "12"})``. What
    ``configure`` gets is then ignored: it is for others, say for the other policies of a broker.
    """

    def __init__(self, configs: Mapping[str, str] | None = None) -> None:
        self._own = configs
        self.configs: Mapping[str, str] = {}
        if configs is not None:
            self.configure(configs)

    @classmethod
    def settings(cls) -> Sequence[Setting[Any]]:
        """The class's settings, those of its bases first."""
        attributes = {
            name: item for base in reversed(cls.__mro__) for name, item in vars(base).items()
        }
        return [item for item in attributes.values() if isinstance(item, Setting)]

    def configure(self, configs: Mapping[str, str]) -> None:
        """Read the settings.

        Raises:
            ValueError: a config is unknown, missing or nonsense; all of them, in one sentence.
        """
        self.configs = configs if self._own is None else self._own
        problems = [
            problem for key in sorted(self.configs) if (problem := self.unknown(key)) is not None
        ]
        for setting in self.settings():
            try:
                setattr(self, setting.attribute, setting.value(self.configs))
            except ValueError as error:
                problems.append(str(error))
        if problems:
            raise ValueError(", and ".join(problems))
        self.settle()

    def unknown(self, key: str) -> str | None:
        """The problem of a config; None for one that the policy knows."""
        keys = [setting.key for setting in self.settings()]
        if key in keys:
            return None
        near = nearest(key, keys)
        advice = f"did you mean {near}?" if near else f"known: {', '.join(keys) or 'none'}"
        return f"{key} is not a config of {type(self).__name__} ({advice})"

    def settle(self) -> None:
        """Check the settings against each other; ``configs`` holds their texts.

        Raises:
            ValueError: they contradict each other.
        """
