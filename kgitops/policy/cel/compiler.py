"""A policy's expressions as programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Source
from kgitops.policy.cel.checker import Checker
from kgitops.policy.cel.engine import CompileError, Program, compile_expression
from kgitops.policy.cel.evaluation_context import References, references_of
from kgitops.policy.cel.expressions import (
    Tree,
    UnknownVariable,
    name_problem,
    program_text,
    read_expression,
    used_variables,
)
from kgitops.policy.cel.nodes import Literal, SyntaxNode, walk
from kgitops.policy.cel.operators import result_problem
from kgitops.policy.cel.problems import Problem, constant_problems, nearest, problems_of_every_api
from kgitops.policy.cel.records.variables import REQUEST_VARIABLES, types_of
from kgitops.policy.cel.tokens import SyntaxProblem
from kgitops.policy.cel.types import BOOL, STRING, Type
from kgitops.policy.evaluate.bundle import CelExpression, CelPolicy, CelValidation


@dataclass(frozen=True, eq=False)
class CompiledExpression:
    """An expression that can be evaluated; ``text`` is what the user wrote.

    ``problems`` are what the check found for some kinds of request and not for all, by api.
    """

    text: str
    source: Source | None
    wanted: Type
    root: SyntaxNode
    program: Program
    needs: References
    problems: Mapping[str, Sequence[Problem]]


@dataclass(frozen=True)
class CompiledValidation:
    """What must be true, and how it is said that it is not."""

    expression: CompiledExpression
    message: str | None
    message_expression: CompiledExpression | None
    field: str | None


@dataclass(frozen=True)
class CompiledPolicy:
    """All expressions of a policy; ``words`` are the texts that they name."""

    apis: tuple[str, ...]
    conditions: tuple[CompiledExpression, ...]
    validations: tuple[CompiledValidation, ...]
    words: tuple[str, ...]

    @property
    def expressions(self) -> Iterator[CompiledExpression]:
        """All of them."""
        yield from self.conditions
        for validation in self.validations:
            yield validation.expression
            if validation.message_expression is not None:
                yield validation.message_expression

    @property
    def needs(self) -> References:
        """What they need together."""
        needs = References()
        for expression in self.expressions:
            needs = needs.merged(expression.needs)
        return needs


MAX_EXPRESSIONS = 100


def compile_policy(policy: CelPolicy) -> CompiledPolicy:
    """The programs of a policy.

    Raises:
        FindingsError: something can't be meant; every finding, at its place.
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
        self._words: dict[str, None] = {}

    def compile(self) -> CompiledPolicy | None:
        policy = self._policy
        count = len(policy.variables) + len(policy.match_conditions) + len(policy.validations)
        if count > MAX_EXPRESSIONS:
            self._add(
                policy.source,
                f"it has {count} expressions, more than {MAX_EXPRESSIONS}",
                "split it",
            )
            return None
        if not policy.validations:
            self._add(policy.source, "it validates nothing", "add spec.validations")
        self._names(policy.match_conditions, "matchConditions")
        for variable in policy.variables:
            self._variable(variable)
        self._names(policy.variables, "variables")
        conditions = [
            self._expression(condition.expression, condition.source, BOOL)
            for condition in policy.match_conditions
        ]
        validations = [self._validation(one) for one in policy.validations]
        return CompiledPolicy(
            apis=self._apis,
            conditions=tuple(one for one in conditions if one is not None),
            validations=tuple(one for one in validations if one is not None),
            words=tuple(self._words),
        )

    def _names(self, named: Sequence[CelExpression], where: str) -> None:
        seen: set[str] = set()
        for one in named:
            if one.name in seen:
                self._add(one.source, f"{where} has two of the name {one.name}", "rename one")
            seen.add(one.name)

    def _variable(self, variable: CelExpression) -> None:
        problem = name_problem(variable.name)
        if problem is not None:
            self._add(variable.source, problem, "write letters, digits and _")
        tree = self._tree(variable.expression, variable.source)
        if tree is None or self._types(tree, variable.source) is None:
            self._broken.add(variable.name)
        elif variable.name not in self._variables:
            self._variables[variable.name] = tree

    def _validation(self, one: CelValidation) -> CompiledValidation | None:
        expression = self._expression(one.expression, one.source, BOOL)
        message = None
        if one.message_expression is not None:
            place = one.message_source or one.source
            message = self._expression(one.message_expression, place, STRING)
        if expression is None:
            return None
        return CompiledValidation(expression, one.message, message, one.field)

    def _expression(
        self, text: str, source: Source | None, wanted: Type
    ) -> CompiledExpression | None:
        tree = self._tree(text, source)
        checked = None if tree is None else self._types(tree, source, wanted)
        if tree is None or checked is None:
            return None
        types, problems = checked
        root, made = program_text(tree.root, types)
        try:
            program = compile_expression(made)
        except CompileError as error:
            self._add(source, f"the expression can't be compiled: {error}", "write it more simply")
            return None
        for node in walk(tree.root):
            if isinstance(node, Literal) and node.kind == "string":
                self._words[node.text.lstrip("rR").strip("'\"")] = None
        return CompiledExpression(
            text, source, wanted, tree.root, program, references_of(root), problems
        )

    def _tree(self, text: str, source: Source | None) -> Tree | None:
        if used_variables(text) & self._broken:
            return None  # the variable's own finding says it
        try:
            return read_expression(text, self._variables)
        except SyntaxProblem as problem:
            self._add(source, problem.problem, problem.advice)
        except UnknownVariable as unknown:
            later = any(one.name == unknown.name for one in self._policy.variables)
            missing = f"the policy has no variable {unknown.name}"
            if later:
                self._add(source, f"{missing} before this line", "define it before its use")
            elif self._variables:
                self._add(source, missing, nearest(unknown.name, self._variables, "it has"))
            else:
                self._add(source, missing, "define it in spec.variables")
        return None

    def _types(
        self, tree: Tree, source: Source | None, wanted: Type | None = None
    ) -> tuple[list[Mapping[SyntaxNode, Type]], Mapping[str, Sequence[Problem]]] | None:
        """The types for each kind of request, and what is wrong for some; None if for all."""
        wrong = list(constant_problems(tree.root))
        types: list[Mapping[SyntaxNode, Type]] = []
        problems: dict[str, Sequence[Problem]] = {}
        for api in self._apis:
            checker = Checker(types_of(api))
            given = checker.check(tree.root)
            if wanted is not None and (unfit := result_problem(given, wanted)) is not None:
                checker.problems.append(Problem(tree.root, *unfit))
            types.append(checker.types)
            problems[api] = checker.problems
        wrong += problems_of_every_api(problems)
        for problem in wrong:
            self._add(source, problem.text, problem.advice)
        # Not by the findings: another expression may have had the same one.
        return None if wrong else (types, problems)

    def _add(self, source: Source | None, problem: str, advice: str) -> None:
        finding = policy_finding(self._policy, source, problem, advice)
        if finding not in self.findings:
            self.findings.append(finding)


def policy_finding(policy: CelPolicy, source: Source | None, problem: str, advice: str) -> Finding:
    """A finding about a policy, at ``source`` or else where the policy stands."""
    return Finding(
        source=source or policy.source, problem=f"policy {policy.name}: {problem}", advice=advice
    )
