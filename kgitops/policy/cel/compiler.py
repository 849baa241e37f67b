"""Compiles a policy's expressions, and checks them as far as possible without a request."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Source
from kgitops.policy.cel.checker import Checker, result_problem
from kgitops.policy.cel.engine import CompileError, Program, compile_expression, evaluate
from kgitops.policy.cel.evaluation_context import References, references_of
from kgitops.policy.cel.functions import BOOL, KEYS, LENGTH, STRING, UNITS, Type, TypeKind
from kgitops.policy.cel.parser import (
    MAX_DEPTH,
    RESERVED,
    Call,
    Chain,
    ListOf,
    Literal,
    Name,
    Select,
    SyntaxNode,
    SyntaxProblem,
    children,
    depth,
    parse,
    replaced,
    text_of,
    too_deep,
    walk,
)
from kgitops.policy.cel.problems import Problem, constant_problems, meant, problems_of_every_api
from kgitops.policy.cel.variables import REQUEST_VARIABLES, VARIABLES, types_of
from kgitops.policy.evaluate.bundle import CelExpression, CelPolicy, CelValidation

_MAX_SIZE = 2_000
_MAX_COST = 1_000_000
_GUESSED_SIZE = 20
_COUNTED = (TypeKind.LIST, TypeKind.MAP, TypeKind.RECORD)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


class Tree(Struct, frozen=True):
    """An expression with the policy's variables in their places; ``size`` counts its nodes."""

    root: SyntaxNode
    size: int


class _UnknownVariable(Exception):  # noqa: N818 (a finding is made of it)
    """An expression names a variable that the policy does not define before it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _name_problem(name: str) -> str | None:
    """The problem of a variable's name; None for a name that it may have."""
    if _IDENTIFIER.fullmatch(name) and name not in RESERVED | {"true", "false", "null", "in"}:
        return None
    return f"{name!r} can't be the name of a variable"


def _read_expression(text: str, variables: Mapping[str, Tree]) -> Tree:
    """Read the tree of ``text``.

    A variable stands for its expression, evaluated where it is used and nowhere else, as in
    Kubernetes. Names can't be captured: no loop's item may have the name of a variable.

    Raises:
        SyntaxProblem: it is not CEL, or too long.
        _UnknownVariable: it names one that is not in ``variables``.
    """
    root = parse(text)
    try:
        compile_expression(text)
    except CompileError as error:
        problem = str(error)
        if "invalid int literal" in problem:
            problem = "a whole number is beyond 64 bits"
        raise SyntaxProblem(problem) from error
    size = 0
    for node in walk(root):
        used = _used(node)
        if used is not None and used not in variables:
            raise _UnknownVariable(used)
        size += 1 if used is None else variables[used].size
        if isinstance(node, Call) and node.function == "has" and _used(node.arguments[0]):
            raise SyntaxProblem("has() asks for a field, not for a variable of the policy")
    if size > _MAX_SIZE:
        raise SyntaxProblem(
            f"with its variables in their places the expression has {size} parts, "
            f"more than {_MAX_SIZE}",
            "use fewer variables in one another",
        )
    root = replaced(root, lambda old, new: variables[name].root if (name := _used(old)) else new)
    if depth(root) > MAX_DEPTH:
        raise too_deep()
    if cost(root) > _MAX_COST:
        raise SyntaxProblem(
            "its loops in loops could take too long", "loop over less, or split the expression"
        )
    return Tree(root, size)


def _used_variables(text: str) -> frozenset[str]:
    """The policy's variables that a text names; none if it is not CEL."""
    try:
        return frozenset(name for node in walk(parse(text)) if (name := _used(node)))
    except SyntaxProblem:
        return frozenset()


def _used(node: SyntaxNode) -> str | None:
    match node:
        case Select(operand=Name(name=prefix), field=field) if prefix == VARIABLES:
            return field
        case _:
            return None


def cost(node: SyntaxNode) -> int:
    """The approximate number of steps of an evaluation; lists of unknown size count as 20 long."""
    if isinstance(node, Call) and node.loop_name is not None and node.target is not None:
        body = sum(map(cost, node.arguments[1:]))
        return 1 + cost(node.target) + _length(node.target) * body
    return 1 + sum(map(cost, children(node)))


def _length(node: SyntaxNode) -> int:
    match node:
        case ListOf(items=items):
            return len(items)
        case Call(function="map" | "filter", target=SyntaxNode() as target):
            return _length(target)
        case Chain(operands=operands):
            return sum(map(_length, operands))
        case _:
            return _GUESSED_SIZE


def _program_text(
    root: SyntaxNode, types: list[Mapping[SyntaxNode, Type]]
) -> tuple[SyntaxNode, str]:
    """Rewrite the tree for the library; also its text. ``types`` are one for each kind of request.

    Loops over maps go in the order of their keys, size() counts characters, and durations and
    byte sizes that are written out are numbers already.
    """

    def change(old: SyntaxNode, new: SyntaxNode) -> SyntaxNode:
        if not isinstance(new, Call) or not isinstance(old, Call):
            return new
        if old.loop_name is not None and new.target is not None:
            if all(_kind(of_api, old.target) is TypeKind.LIST for of_api in types):
                return new
            keys = Call(new.start, new.end, None, KEYS, (new.target,))
            return Call(new.start, new.end, keys, new.function, new.arguments)
        if new.function == "size":
            was = old.arguments[0] if old.target is None else old.target
            if all(_kind(of_api, was) in _COUNTED for of_api in types):
                return new
            measured = new.arguments[0] if new.target is None else new.target
            return Call(new.start, new.end, None, LENGTH, (measured,))
        if new.function in UNITS and isinstance(new.arguments[0], Literal):
            value = evaluate(compile_expression(new.arguments[0].text), None)
            number = UNITS[new.function](str(value))
            return Literal(new.start, new.end, "int", str(number))
        return new

    made = replaced(root, change)
    return made, text_of(made)


def _kind(types: Mapping[SyntaxNode, Type], node: SyntaxNode | None) -> TypeKind:
    type_ = types.get(node) if node is not None else None
    return TypeKind.ANY if type_ is None else type_.kind


class CompiledExpression(Struct, frozen=True, eq=False):
    """An expression that can be evaluated; ``text`` is the user's.

    ``problems`` are by api those of the check; none of them is one for every kind of request.
    """

    text: str
    source: Source | None
    expected: Type
    root: SyntaxNode
    program: Program
    references: References
    problems: Mapping[str, Sequence[Problem]]


class CompiledValidation(Struct, frozen=True):
    """A condition that must be true, and the message where it is not."""

    expression: CompiledExpression
    message: str | None
    message_expression: CompiledExpression | None
    field: str | None


class CompiledPolicy(Struct, frozen=True):
    """All expressions of a policy; ``literals`` are the texts in them."""

    apis: tuple[str, ...]
    conditions: tuple[CompiledExpression, ...]
    validations: tuple[CompiledValidation, ...]
    literals: tuple[str, ...]

    @property
    def expressions(self) -> Iterator[CompiledExpression]:
        yield from self.conditions
        for validation in self.validations:
            yield validation.expression
            if validation.message_expression is not None:
                yield validation.message_expression

    @property
    def references(self) -> References:
        """Everything that they refer to."""
        references = References()
        for expression in self.expressions:
            references = references.merged(expression.references)
        return references


_MAX_EXPRESSIONS = 100


def compile_policy(policy: CelPolicy) -> CompiledPolicy:
    """Compile the policy.

    Raises:
        FindingsError: an expression is wrong; every finding, at its place.
    """
    compiler = _Compiler(policy)
    compiled = compiler.compile()
    if compiler.findings or compiled is None:
        raise FindingsError(compiler.findings)
    return compiled


class _Compiler:
    def __init__(self, policy: CelPolicy) -> None:
        self.findings: list[Finding] = []
        self._policy = policy
        self._apis = policy.match.requests or tuple(REQUEST_VARIABLES)
        self._variables: dict[str, Tree] = {}
        self._broken: set[str] = set()
        self._literals: dict[str, None] = {}

    def compile(self) -> CompiledPolicy | None:
        policy = self._policy
        count = len(policy.variables) + len(policy.match_conditions) + len(policy.validations)
        if count > _MAX_EXPRESSIONS:
            self._add(
                policy.source,
                f"it has {count} expressions, more than {_MAX_EXPRESSIONS}",
                "split it",
            )
            return None
        if not policy.validations:
            self._add(policy.source, "it validates nothing", "add spec.validations")
        self._check_names(policy.match_conditions, "matchConditions")
        for variable in policy.variables:
            self._variable(variable)
        self._check_names(policy.variables, "variables")
        conditions = [
            self._expression(condition.expression, condition.source, BOOL)
            for condition in policy.match_conditions
        ]
        validations = [self._validation(validation) for validation in policy.validations]
        return CompiledPolicy(
            apis=self._apis,
            conditions=tuple(filter(None, conditions)),
            validations=tuple(filter(None, validations)),
            literals=tuple(self._literals),
        )

    def _check_names(self, expressions: Sequence[CelExpression], field: str) -> None:
        seen: set[str] = set()
        for expression in expressions:
            name = expression.name
            if name in seen:
                self._add(expression.source, f"{field} has two of the name {name}", "rename one")
            seen.add(name)

    def _variable(self, variable: CelExpression) -> None:
        problem = _name_problem(variable.name)
        if problem is not None:
            self._add(variable.source, problem, "write letters, digits and _")
        tree = self._tree(variable.expression, variable.source)
        if tree is None or self._types(tree, variable.source) is None:
            self._broken.add(variable.name)
        elif variable.name not in self._variables:
            self._variables[variable.name] = tree

    def _validation(self, validation: CelValidation) -> CompiledValidation | None:
        expression = self._expression(validation.expression, validation.source, BOOL)
        message = None
        if validation.message_expression is not None:
            place = validation.message_source or validation.source
            message = self._expression(validation.message_expression, place, STRING)
        if expression is None:
            return None
        return CompiledValidation(expression, validation.message, message, validation.field)

    def _expression(
        self, text: str, source: Source | None, expected: Type
    ) -> CompiledExpression | None:
        tree = self._tree(text, source)
        checked = None if tree is None else self._types(tree, source, expected)
        if tree is None or checked is None:
            return None
        types, problems = checked
        root, text_of_program = _program_text(tree.root, types)
        try:
            program = compile_expression(text_of_program)
        except CompileError as error:
            self._add(source, f"the expression can't be compiled: {error}", "write it more simply")
            return None
        for node in walk(tree.root):
            if isinstance(node, Literal) and node.kind == "string":
                self._literals[node.text.lstrip("rR").strip("'\"")] = None
        return CompiledExpression(
            text, source, expected, tree.root, program, references_of(root), problems
        )

    def _tree(self, text: str, source: Source | None) -> Tree | None:
        if _used_variables(text) & self._broken:
            return None  # reported by the variable's own finding
        try:
            return _read_expression(text, self._variables)
        except SyntaxProblem as problem:
            self._add(source, problem.problem, problem.advice)
        except _UnknownVariable as unknown:
            later = any(variable.name == unknown.name for variable in self._policy.variables)
            missing = f"the policy has no variable {unknown.name}"
            if later:
                self._add(source, f"{missing} before this line", "define it before its use")
            elif self._variables:
                self._add(source, missing, meant(unknown.name, self._variables, "it has"))
            else:
                self._add(source, missing, "define it in spec.variables")
        return None

    def _types(
        self, tree: Tree, source: Source | None, expected: Type | None = None
    ) -> tuple[list[Mapping[SyntaxNode, Type]], Mapping[str, Sequence[Problem]]] | None:
        """The types and problems for each kind of request; None for a problem of every kind."""
        problems_of_all = list(constant_problems(tree.root))
        types: list[Mapping[SyntaxNode, Type]] = []
        problems: dict[str, Sequence[Problem]] = {}
        for api in self._apis:
            checker = Checker(types_of(api))
            actual = checker.check(tree.root)
            if expected is not None and (problem := result_problem(actual, expected)) is not None:
                checker.problems.append(Problem(tree.root, *problem))
            types.append(checker.types)
            problems[api] = checker.problems
        problems_of_all += problems_of_every_api(problems)
        for wrong in problems_of_all:
            self._add(source, wrong.text, wrong.advice)
        # Not by the findings: another expression may have had the same one.
        return None if problems_of_all else (types, problems)

    def _add(self, source: Source | None, problem: str, advice: str) -> None:
        finding = policy_finding(self._policy, source, problem, advice)
        if finding not in self.findings:
            self.findings.append(finding)


def policy_finding(policy: CelPolicy, source: Source | None, problem: str, advice: str) -> Finding:
    """Make a finding about a policy, at ``source`` or else at the policy's own place."""
    return Finding(
        source=source or policy.source, problem=f"policy {policy.name}: {problem}", advice=advice
    )
