"""The reference of the public API, as pages that are made from docstrings and signatures when the site is built."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

__all__ = ["CONTRACT", "MODULES", "contract", "on_files", "reference"]

MODULES = (
    "hunet",
    "hunet.notebook",
    "hunet.testing",
    "hunet.protocols",
    "hunet.protocols.carrier",
    "hunet.protocols.forms",
    "hunet.protocols.state",
    "hunet.model",
    "hunet.simulation",
    "hunet.worlds",
    "hunet.graphs",
    "hunet.pipeline.session",
    "hunet.pipeline.importing",
    "hunet.pipeline.study_plan",
    "hunet.pipeline.studies",
    "hunet.pipeline.study_results",
    "hunet.pipeline.advice",
    "hunet.pipeline.one_scenario",
    "hunet.report.page",
    "hunet.report.one_reports",
)
"""What the page tells of, in this order; a name that several modules have stands under the first."""
CONTRACT = ("hunet.protocols.contract", "hunet.protocols.capabilities")
"""What stands on a page of its own: what a protocol has to be, and what it can be beside."""

_LONGEST = 100


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "contract.md", content=contract()))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def contract() -> str:
    """The page of the contract between protocols and drivers, in Markdown."""
    return _page("The contract of a protocol", CONTRACT)


def reference() -> str:
    """The page of everything else, in Markdown."""
    return _page("API reference", MODULES)


def _page(title: str, modules: tuple[str, ...]) -> str:
    parts = [f"# {title}", "Made from the docstrings; the examples in them are run by the tests."]
    described: dict[int, str] = {}
    for name in modules:
        module = import_module(name)
        parts += [f"## `{name}`", _markdown(inspect.getdoc(module) or "")]
        remarks = _remarks(module)
        for public in module.__all__:
            thing = getattr(module, public)
            first = described.setdefault(id(thing), name)
            if first != name and (inspect.isclass(thing) or inspect.isfunction(thing)):
                parts.append(f"**`{public}`**: see `{first}`.")
            else:
                parts += [f"### `{name}.{public}`", *_described(public, thing, remarks.get(public, ""))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _described(name: str, thing: Any, remark: str) -> Iterator[str]:
    """Signature, docstring, and of a class its parameters or methods."""
    from hunet.model import Parameters, describe

    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        yield _markdown(remark)
        if isinstance(thing, dict) and thing:
            yield "Keys: " + ", ".join(f"`{key}`" for key in thing)
        return
    if inspect.isclass(thing) and issubclass(thing, Parameters):
        yield _markdown(inspect.getdoc(thing) or "")
        rows = [f"| `{row.name}` | {row.default} | {row.help.replace('|', '/')} |" for row in describe(thing)]
        yield "\n".join(["| parameter | default | meaning |", "|---|---|---|", *rows]) if rows else ""
        return
    yield _signature(name, thing)
    yield _markdown(inspect.getdoc(thing) or "")
    for method, value in vars(thing).items() if inspect.isclass(thing) else ():
        inner = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        function = inner.fget if isinstance(inner, property) else inner
        text = inspect.getdoc(function) if inspect.isfunction(function) else None
        if not method.startswith("_") and function is not None and text:
            yield f"#### `{name}.{method}`"
            yield "" if isinstance(inner, property) else _signature(f"{name}.{method}", function)
            yield _markdown(text)


class _Bare(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _signature(name: str, thing: Any) -> str:
    """How it is called, on several lines if one is too long."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = [
        each.replace(annotation=_bare(each.annotation))
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    answer = signature.return_annotation
    signature = signature.replace(parameters=parameters, return_annotation=_bare(answer))
    line = re.sub(r"<(?:factory|function|object)[^>]*>", "...", f"{name}{signature}".removesuffix(" -> None"))
    if len(line) > _LONGEST:
        inner, _, after = line[len(name) + 1 :].rpartition(")")
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in _arguments(inner)) + ")" + after
    return f"```text\n{line}\n```"


def _bare(annotation: Any) -> Any:
    written = getattr(annotation, "__forward_arg__", annotation)
    return _Bare(written) if isinstance(written, str) else annotation


def _arguments(text: str) -> list[str]:
    """Arguments apart: at the commas that no bracket holds."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _remarks(module: Any) -> dict[str, str]:
    """What stands below the constants of a module, and of the modules that it has them from."""
    found: dict[str, str] = {}
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hunet."):
            names = {alias.name for alias in node.names} & set(getattr(module, "__all__", ()))
            if names:
                theirs = _remarks(import_module(str(node.module)))
                found |= {name: theirs[name] for name in names if name in theirs}
    for node, after in zip(tree.body, tree.body[1:], strict=False):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if targets and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found |= {ast.unparse(target): inspect.cleandoc(str(after.value.value)) for target in targets}
    return found


def _markdown(text: str) -> str:
    """A docstring as Markdown: examples become blocks, headings bold, double backticks single ones."""
    out: list[str] = []
    lines = [*text.splitlines(), ""]
    example = False
    for line in lines:
        if not example and line.startswith(">>>"):
            example = True
            out += ["", "```pycon"]
        elif example and not line.strip():
            example = False
            out += ["```", ""]
        if example or line.startswith("    "):
            out.append(line)
        elif re.fullmatch(r"-{3,}", line):  # the line below a heading
            out[-1] = f"**{out[-1]}**\n"
        else:
            plain = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", line)
            out.append(re.sub(r"``([^`]+)``", r"`\1`", re.sub(r"::$", ":", plain)))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")
