"""The mutants of a module: the small changes of its syntax tree that a test should notice; and a seeded sample."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
UNTESTED_FUNCTIONS = {"__repr__", "__str__"}
LOGS = {"log", "_log", "logger"}
"""Calls of these are not removed: what a log says is for people."""


class Mutant(NamedTuple):
    """One change of one module. ``line`` is the text of the line: it names the place after lines above have moved."""

    module: str
    number: int
    line: str
    change: str
    lines: tuple[int, int]
    """The first and the last line of the statement, or of the head of the block."""
    source: Callable[[], str]
    """Gives the whole module with the change: it takes a while, and few mutants are tried."""
    nth: int = 0
    """How many mutants above it have the same name."""

    @property
    def name(self) -> tuple[str, str, str]:
        return self.module, self.line, self.change


class _Change(NamedTuple):
    """What stands for a node. ``apply`` is given a copy of the node, and returns what takes its place."""

    node: ast.AST
    statement: ast.stmt
    apply: Callable[[ast.AST], ast.AST]


def mutants(module: str, source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its lines."""
    tree = ast.parse(source)
    lines = source.splitlines()
    found: dict[tuple[int, str], Mutant] = {}
    for node, statement, apply in _walk(tree.body):
        new = apply(copy.deepcopy(node))
        before, after = _text(node), _text(new)
        number: int = node.lineno  # type: ignore[attr-defined]
        change = f"{before} -> {after}"
        if before != after and (number, change) not in found:
            found[number, change] = Mutant(
                module, number, lines[number - 1].strip(), change, _span(statement), partial(_changed, tree, node, new)
            )
    met: Counter[str] = Counter()
    every = []
    for mutant in sorted(found.values(), key=lambda mutant: (mutant.number, mutant.change)):
        name = f"{mutant.line} {mutant.change}"
        every.append(mutant._replace(nth=met[name]))
        met[name] += 1
    return every


def sample(every: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """As many of them as asked for, on as many lines as possible."""
    if not every:
        return []
    shuffled = Random(f"{seed}/{every[0].module}").sample(every, len(every))
    met: dict[int, int] = {}
    ranked = []
    for place, mutant in enumerate(shuffled):
        met[mutant.number] = met.get(mutant.number, 0) + 1
        ranked.append((met[mutant.number], place, mutant))
    chosen = [mutant for _, _, mutant in sorted(ranked, key=lambda entry: entry[:2])[:count]]
    return sorted(chosen, key=lambda mutant: (mutant.number, mutant.change))


def lines_of_code(source: str) -> int:
    """The lines on which a statement that is no docstring starts."""
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    return len({node.lineno for node in statements if not _is_text(node)})


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"


def _span(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return statement.lineno, statement.end_lineno or statement.lineno
    first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return statement.lineno, max(statement.lineno, first - 1)


def _changed(tree: ast.Module, old: ast.AST, new: ast.AST) -> str:
    """The module with another node in the place of one, which is put back."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
                made = ast.unparse(tree)
                setattr(parent, field, old)
                return made
            if isinstance(value, list) and any(one is old for one in value):
                setattr(parent, field, [new if one is old else one for one in value])
                made = ast.unparse(tree)
                setattr(parent, field, value)
                return made
    raise ValueError("the node is not in the tree")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _walk(body: list[ast.stmt]) -> Iterator[_Change]:
    for statement in body:
        yield from _in_statement(statement)


def _in_statement(statement: ast.stmt) -> Iterator[_Change]:
    if _is_left_alone(statement):
        return
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        for default in [*statement.args.defaults, *statement.args.kw_defaults]:
            yield from _in_expression(default, statement)
        yield from _walk(statement.body)
        return
    yield from _of_statement(statement)
    for field, value in ast.iter_fields(statement):
        if field in ("annotation", "decorator_list", "bases", "keywords"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.stmt):
                yield from _in_statement(part)
            elif isinstance(part, ast.match_case | ast.ExceptHandler):
                yield from _in_expression(getattr(part, "guard", None), statement)
                yield from _walk(part.body)
            elif isinstance(part, ast.AST):
                yield from _in_expression(part, statement)


def _is_left_alone(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name in UNTESTED_FUNCTIONS
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
        case ast.Expr(value=value):
            return _is_text(statement) or _logs(value)
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert)


def _logs(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[0] in LOGS


def _of_statement(statement: ast.stmt) -> Iterator[_Change]:
    """Changes of the statement itself: it is left out, returns nothing, or is always done."""

    def instead(text: str) -> _Change:
        return _Change(statement, statement, lambda _: ast.parse(text).body[0])

    match statement:
        case ast.Expr(value=ast.Call(func=func)) if "super()" not in ast.unparse(func):
            yield instead("pass")
        case ast.Expr(value=ast.Await()) | ast.Delete() | ast.Break() | ast.Continue():
            yield instead("pass")
        case ast.AugAssign(op=op):
            yield instead("pass")
            if type(op) in ARITHMETIC:
                yield _Change(statement, statement, _with_operator)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield instead("return None")
        case ast.If() | ast.While() if not isinstance(statement.test, ast.Constant):
            yield _Change(statement.test, statement, lambda _: ast.Constant(isinstance(statement, ast.If)))


def _in_expression(top: ast.AST | None, statement: ast.stmt) -> Iterator[_Change]:
    if top is None or isinstance(top, ast.JoinedStr):
        return
    yield from (_Change(top, statement, apply) for apply in _of_expression(top))
    if isinstance(top, ast.Lambda):
        yield from _in_expression(top.body, statement)
        return
    for child in ast.iter_child_nodes(top):
        if isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _in_expression(part, statement)
        else:
            yield from _in_expression(child, statement)


def _of_expression(node: ast.AST) -> Iterator[Callable[[ast.AST], ast.AST]]:
    match node:
        case ast.Compare(ops=ops):
            for place, operator in enumerate(ops):
                yield from (_with_comparison(place, other) for other in COMPARISONS[type(operator)])
        case ast.BinOp(op=op, left=left, right=right) if type(op) in ARITHMETIC:
            if not _is_sequence(left) and not _is_sequence(right):
                yield _with_operator
        case ast.BoolOp(values=values):
            yield _with_other_word
            yield from (_without(place) for place in range(len(values)))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield lambda _: operand
        case ast.IfExp(body=body, orelse=orelse):
            yield lambda _: body
            yield lambda _: orelse
        case ast.Constant(value=bool() as value):
            yield lambda _: ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield from (_with_value(value + step) for step in ((1, -1) if value > 0 else (1,)))
        case ast.Call(func=ast.Name(id=name), keywords=keywords) if name in NAMES:
            yield _with_name(NAMES[name])
            if any(keyword.arg == "reverse" for keyword in keywords):
                yield _without_reverse


def _with_value(value: float) -> Callable[[ast.AST], ast.AST]:
    return lambda _: ast.Constant(value)


def _is_sequence(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _with_comparison(place: int, other: type[ast.cmpop]) -> Callable[[ast.AST], ast.AST]:
    def apply(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        node.ops[place] = other()
        return node

    return apply


def _with_operator(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    node.op = ARITHMETIC[type(node.op)]()
    return node


def _with_other_word(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return node


def _without(place: int) -> Callable[[ast.AST], ast.AST]:
    def apply(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.BoolOp)
        del node.values[place]
        return node if len(node.values) > 1 else node.values[0]

    return apply


def _with_name(name: str) -> Callable[[ast.AST], ast.AST]:
    def apply(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call)
        node.func = ast.Name(name)
        if name == "list":
            node.keywords = []
        return node

    return apply


def _without_reverse(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Call)
    node.keywords = [keyword for keyword in node.keywords if keyword.arg != "reverse"]
    return node
