"""Compiles a policy's expressions, and checks them as far as possible without a request."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Source
from kgitops.policy.cel.checker import Checker, result_problem
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
from kgitops.policy.cel.functions import BOOL, STRING, Type
from kgitops.policy.cel.parser import Literal, SyntaxNode, SyntaxProblem, walk
from kgitops.policy.cel.problems import Problem, constant_problems, meant, problems_of_every_api
from kgitops.policy.cel.records.variables import REQUEST_VARIABLES, types_of
from kgitops.policy.evaluate.bundle import CelExpression, CelPolicy, CelValidation


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
        """All of them."""
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


MAX_EXPRESSIONS = 100


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
        if count > MAX_EXPRESSIONS:
            self._add(
                policy.source,
                f"it has {count} expressions, more than {MAX_EXPRESSIONS}",
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
        problem = name_problem(variable.name)
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
        root, text_of_program = program_text(tree.root, types)
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
        if used_variables(text) & self._broken:
            return None  # reported by the variable's own finding
        try:
            return read_expression(text, self._variables)
        except SyntaxProblem as problem:
            self._add(source, problem.problem, problem.advice)
        except UnknownVariable as unknown:
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
