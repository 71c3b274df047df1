"""Every small fault that can be put into a file: where it is, what it changes, its code."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

MODULE = "<module>"
TOLERANCE = 1e-4
"""Smaller constants are tolerances: doubled they change nothing, so they grow a thousandfold."""

# What a type checker, a reader or a decorator uses is no behaviour, and neither is a message.
_SILENT = {"annotation", "returns", "decorator_list", "bases", "type_params"}
# How thick, how large, in front of what: arguments of drawings that an eye must judge.
_LOOKS = {
    "alpha", "bbox_to_anchor", "capsize", "elinewidth", "fontsize", "frameon", "height_ratios",
    "labelrotation", "linewidth", "linewidths", "markersize", "ms", "nbins", "ncols", "pad",
    "pad_inches", "wspace", "zorder",
}  # fmt: skip

_COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_OPPOSITES = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("nanmin", "nanmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("exp", "expm1"),
    ("log", "log1p"),
    ("cumsum", "cumprod"),
)
_OPPOSITE = {**dict(_OPPOSITES), **{second: first for first, second in _OPPOSITES}}
# Swapping their two arguments changes nothing, or only the kind of crash.
_SYMMETRIC = set(_OPPOSITE) | {
    "hypot", "outer", "logaddexp", "isinstance", "issubclass", "getattr", "gcd", "dot", "vdot",
    "isclose", "allclose", "array_equal", "add", "multiply", "cast", "TypeVar", "setdefault",
    "hasattr",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: the statement before and after it, in which function of which file."""

    path: Path
    number: int
    """Its place in the order of `mutants(path)`."""
    line: int
    scope: str
    """Qualified name of the function, or `<module>` for what runs at import."""
    before: str
    after: str

    @property
    def change(self) -> str:
        """The fault, without its line: what the list of equivalent mutants names it by."""
        return f"{self.scope}: {self.before} => {self.after}"


@dataclass
class _Place:
    """A field of a node that holds the original, and what is to stand there instead."""

    parent: ast.AST
    field: str
    index: int | None
    original: ast.AST
    replacement: ast.AST
    statement: ast.stmt
    scope: str

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants(path: Path) -> list[Mutant]:
    """List all faults of a file, in the order of its syntax tree."""
    tree = ast.parse(path.read_text())
    found = []
    for number, place in enumerate(_places(tree)):
        before = _shown(place.statement)
        place.put(place.replacement)
        same = place.original is place.statement
        after = _shown(place.replacement if same else place.statement)
        place.put(place.original)
        line = getattr(place.original, "lineno", place.statement.lineno)
        found.append(Mutant(path, number, line, place.scope, before, after))
    return found


def compiled(mutant: Mutant) -> CodeType:
    """Compile the file of a mutant with its fault."""
    tree = ast.parse(mutant.path.read_text())
    place = list(_places(tree))[mutant.number]
    ast.copy_location(place.replacement, place.original)
    place.put(place.replacement)
    return compile(ast.fix_missing_locations(tree), str(mutant.path), "exec")


def _shown(statement: ast.AST) -> str:
    """Write a statement on one line; of a compound one its head alone."""
    if isinstance(statement, ast.If | ast.While):
        word = "if" if isinstance(statement, ast.If) else "while"
        return f"{word} {ast.unparse(statement.test)}:"
    if isinstance(statement, ast.For):
        return f"for {ast.unparse(statement.target)} in {ast.unparse(statement.iter)}:"
    if isinstance(statement, ast.FunctionDef):
        return f"def {statement.name}({ast.unparse(statement.args)}):"
    return " ".join(ast.unparse(statement).split())


def _places(tree: ast.Module) -> Iterator[_Place]:
    for statement in tree.body:
        yield from _visit(statement, tree, "body", tree.body.index(statement), None, "")


def _visit(
    node: ast.AST,
    parent: ast.AST,
    field: str,
    index: int | None,
    around: ast.stmt | None,
    scope: str,
) -> Iterator[_Place]:
    """Yield the faults of a node and of all below it."""
    if _is_docstring(node) or isinstance(node, ast.Import | ast.ImportFrom | ast.Assert):
        return
    if isinstance(node, ast.keyword) and node.arg in _LOOKS:
        return
    statement = node if isinstance(node, ast.stmt) else around
    assert statement is not None
    at_import = not _in_function(scope)
    for replacement in _faults(node, at_import=at_import):
        # Of functions that are registered under the name `_`, a module keeps the last.
        where = MODULE if at_import or _plain(scope) == "_" else _plain(scope)
        yield _Place(parent, field, index, node, replacement, statement, where)
    if isinstance(node, ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        if name in _SILENT or (isinstance(node, ast.ClassDef) and name == "keywords"):
            continue
        inner = scope
        if name == "body" and isinstance(node, ast.ClassDef):
            inner = f"{scope}{node.name}."
        elif name == "body" and isinstance(node, ast.FunctionDef):
            inner = f"{scope}{node.name}()."
        if isinstance(value, ast.AST):
            yield from _visit(value, node, name, None, statement, inner)
        elif isinstance(value, list):
            for place, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield from _visit(child, node, name, place, statement, inner)


def _in_function(scope: str) -> bool:
    return "()." in scope


def _plain(scope: str) -> str:
    """Name the outermost function: its code holds that of the functions inside it."""
    return scope.partition("().")[0]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _faults(node: ast.AST, *, at_import: bool) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    if isinstance(node, ast.Constant):
        yield from _constants(node)
    if at_import:
        return
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Slice):
        yield from _slices(node)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, node.ifs[:-1], node.is_async)
    elif isinstance(node, ast.stmt):
        yield from _statements(node)


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        if value > 0:
            yield ast.Constant(value - 1)
    elif isinstance(value, float):
        if value == 0:
            yield ast.Constant(1.0)
        else:
            yield ast.Constant(value * (1000 if abs(value) < TOLERANCE else 2))


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for place, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    function = node.func
    name = (
        function.attr
        if isinstance(function, ast.Attribute)
        else function.id
        if isinstance(function, ast.Name)
        else ""
    )
    if name in _OPPOSITE:
        other: ast.expr = (
            ast.Attribute(function.value, _OPPOSITE[name], function.ctx)
            if isinstance(function, ast.Attribute)
            else ast.Name(_OPPOSITE[name], ast.Load())
        )
        yield ast.Call(other, node.args, node.keywords)
    plain = not any(isinstance(argument, ast.Starred) for argument in node.args)
    twins = len({ast.dump(argument) for argument in node.args}) < 2
    if len(node.args) == 2 and plain and not twins and name not in _SYMMETRIC:
        yield ast.Call(function, node.args[::-1], node.keywords)


def _slices(node: ast.Slice) -> Iterator[ast.AST]:
    """Move the ends by one; ends that are constants move as constants."""
    for name in ("lower", "upper"):
        end = getattr(node, name)
        if end is not None and not isinstance(end, ast.Constant | ast.UnaryOp):
            moved = ast.Slice(node.lower, node.upper, node.step)
            setattr(moved, name, ast.BinOp(end, ast.Sub(), ast.Constant(1)))
            yield moved


def _statements(node: ast.stmt) -> Iterator[ast.AST]:
    if isinstance(node, ast.AugAssign):
        if type(node.op) in _ARITHMETIC:
            yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
        yield ast.Pass()
    elif isinstance(node, ast.Raise | ast.Expr) or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Attribute)
    ):
        if not isinstance(getattr(node, "value", None), ast.Yield | ast.YieldFrom):
            yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.If | ast.While) and isinstance(
        node.test, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr
    ):
        test = ast.UnaryOp(ast.Not(), node.test)
        yield type(node)(test, node.body, node.orelse)
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
