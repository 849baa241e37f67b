"""Loads policies as rules that can judge; a policy that can't be loaded is a finding."""

import difflib
import inspect
import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from types import ModuleType

from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding
from kgitops.model.wording import nearest
from kgitops.policy.api.interfaces import Configurable
from kgitops.policy.evaluate.bundle import CelPolicy, Level, Policy, PythonPolicy
from kgitops.policy.evaluate.protocol import Rule
from kgitops.policy.importing import describe_exception, import_from, is_interrupt, line_of
from kgitops.policy.python_rule import METHODS, PythonRule

INTERFACES = tuple(dict.fromkeys(interface for interface, _ in METHODS.values()))

_CLASS = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*)")
_NEARLY = 0.9
_FORM = "write class as module:Class, for example policies.naming:TeamPrefix"
_FILE = re.compile(r"(\./)?(?P<path>\w+([/.]\w+)*)\.py(:(?P<name>\w+))?")


def load_rules(
    policies: Sequence[Policy], *, before: Callable[[Policy], None] = lambda _: None
) -> tuple[Rule, ...]:
    """Load every policy that isn't off, in order; ``before`` is called before each.

    A policy in Python is made without arguments and configured once (P201-43, P201-44).

    Raises:
        FindingsError: some can't be loaded; every reason, at the policies' sources.
    """
    loader = _Loader()
    rules: list[Rule] = []
    findings: list[Finding] = []
    for policy in policies:
        if policy.level is Level.OFF:
            continue
        before(policy)
        try:
            rules.append(loader.load(policy))
        except FindingsError as error:
            findings += error.findings
    if findings:
        for rule in rules:
            rule.close()
        raise FindingsError(findings)
    return tuple(rules)


class _Loader:
    def load(self, policy: Policy) -> Rule:
        match policy:
            case CelPolicy():
                return self._load_cel(policy)
            case PythonPolicy():
                return _load_python(policy)

    @cached_property
    def _load_cel(self) -> Callable[[CelPolicy], Rule]:
        # Imported only where CEL is used; all policies share the contexts of their requests.
        from kgitops.policy.cel.evaluation_context import EvaluationContexts  # noqa: PLC0415
        from kgitops.policy.cel.rule import load_cel  # noqa: PLC0415

        return partial(load_cel, contexts=EvaluationContexts())


def _load_python(policy: PythonPolicy) -> PythonRule:
    class_ = _class(policy)
    try:
        instance = class_()
        rule = PythonRule(policy.name, policy.level, instance)
    except BaseException as error:
        raise _failed(policy, "making it", error, "make it work without arguments") from error
    try:
        instance.configure(dict(policy.configs))
    except ValueError as error:
        raise _finding(policy, f"its configs are refused: {error}", "correct them") from error
    except BaseException as error:
        raise _failed(policy, "configure", error, "correct its configs or the class") from error
    return rule


def _class(policy: PythonPolicy) -> type[Configurable]:
    parts = _CLASS.fullmatch(policy.class_)
    if parts is None:
        raise _finding(
            policy, f"{policy.class_!r} names no class", _module_of_file(policy) or _FORM
        )
    name = parts["name"]
    module = _module(policy, parts["module"])
    try:
        class_ = getattr(module, name, None)
    except BaseException as error:
        raise _failed(policy, f"importing {name}", error, "correct the module") from error
    if class_ is None:
        raise _finding(policy, f"{module.__name__} has no class {name}", _suggestion(module, name))
    if not isinstance(class_, type):
        raise _finding(policy, f"{policy.class_} is not a class", _FORM)
    if not issubclass(class_, INTERFACES):
        raise _finding(
            policy,
            f"{policy.class_} implements no interface of policies",
            "let it extend BaseTopicPolicy or another one of kgitops.policy",
        )
    if inspect.isabstract(class_):
        missing = ", ".join(sorted(getattr(class_, "__abstractmethods__", ())))
        raise _finding(
            policy,
            f"{policy.class_} doesn't implement {missing}",
            "implement them, or extend BaseTopicPolicy, which accepts what you don't judge",
        )
    misspelt = _misspelt(class_)
    if misspelt:
        raise _finding(
            policy,
            f"{policy.class_} has a method {misspelt[0]}, which is never called",
            f"did you mean {misspelt[1]}?",
        )
    needed = _required_arguments(class_)
    if needed:
        raise _finding(
            policy,
            f"{policy.class_} can't be made without {needed}",
            "take no arguments in __init__ and read what you need in configure",
        )
    return class_


def _module(policy: PythonPolicy, name: str) -> ModuleType:
    try:
        return import_from(policy.folder, name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            where = f" in {policy.folder} or" if policy.folder else ""
            raise _finding(
                policy,
                f"there is no module {error.name}{where} among the installed packages",
                _module_of_file(policy)
                or "correct the name, or install the package that brings it next to kgitops",
            ) from error
        at = line_of(error) or name
        raise _finding(
            policy,
            f"{at} imports {error.name or 'a module'}, which is not there",
            "install it next to kgitops, or remove the import",
        ) from error
    except BaseException as error:
        raise _failed(policy, f"importing {name}", error, "correct the module") from error


def _module_of_file(policy: PythonPolicy) -> str | None:
    """The advice for a class that is given by its file; None if it isn't."""
    file = _FILE.fullmatch(policy.class_)
    if file is None:
        return None
    module = file["path"].replace("/", ".")
    return f'name the module instead of its file: "{module}:{file["name"] or "CLASS"}"'


def _misspelt(class_: type) -> tuple[str, str] | None:
    """A method that is nearly one of an interface, which would never judge, and the latter."""
    methods = [method for _, method in METHODS.values()]
    for name in dir(class_):
        near = difflib.get_close_matches(name, methods, n=1, cutoff=_NEARLY)
        if near and name not in methods:
            return name, near[0]
    return None


def _required_arguments(class_: type) -> str:
    """The names of the constructor's required arguments."""
    try:
        parameters = inspect.signature(class_).parameters.values()
    except (TypeError, ValueError):  # a constructor that can't be looked at is just called
        return ""
    return ", ".join(
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    )


def _suggestion(module: ModuleType, name: str) -> str:
    classes = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, INTERFACES)
        and f"{value.__module__}.".startswith(f"{module.__name__}.")
    ]
    only = classes if len(classes) == 1 else []
    near = nearest(name, classes) or next(iter(only), None)
    return f"did you mean {near}?" if near else "write a policy there, or name another module"


def _failed(policy: PythonPolicy, action: str, error: BaseException, advice: str) -> FindingsError:
    if is_interrupt(error):
        raise error
    return _finding(policy, f"{action} failed with {describe_exception(error)}", advice)


def _finding(policy: PythonPolicy, problem: str, advice: str) -> FindingsError:
    return FindingsError(
        [
            Finding(
                source=policy.source,
                problem=f"the policy {policy.name!r} can't be loaded: {problem}",
                advice=advice,
            )
        ]
    )
