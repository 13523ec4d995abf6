"""Which strings a function can say: its own and those of whatever it refers to, without running it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (".", "models", "matching", "training", "quantize")
PACKAGES = ("mobilebert_", "android_bench", "optimum")


@cache
def module_file(name: str) -> Path | None:
    """The file of one of our modules."""
    if not name.startswith(PACKAGES):
        return None
    for source in SOURCES:
        stem = ROOT / source / name.replace(".", "/")
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def imported_names(name: str) -> frozenset[str]:
    """What a module imports from others, by its name there."""
    file = module_file(name)
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if file else ()
    found = (one for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names)
    return frozenset(one.asname or one.name for one in found)


class Module:
    """A module's definitions, and what its names are elsewhere."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self.tree = ast.parse(file.read_text(encoding="utf-8"))
        self.package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        self.defined: dict[str, ast.AST] = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.defined[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.defined |= {target.id: node for target in targets if isinstance(target, ast.Name)}
        self.names = self.imports(self.tree)

    def imports(self, tree: ast.AST) -> dict[str, tuple[str, str | None]]:
        """Local name → (module, name in it; None for the module itself)."""
        found: dict[str, tuple[str, str | None]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {
                    one.asname or one.name.split(".")[0]: (
                        one.name if one.asname else one.name.split(".")[0],
                        None,
                    )
                    for one in node.names
                }
            elif isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    inner = f"{node.module}.{one.name}"
                    # A package may export a function under the name of the module that holds it.
                    whole = module_file(inner) and one.name not in imported_names(node.module)
                    found[one.asname or one.name] = (inner, None) if whole else (node.module, one.name)
        # A lazy package: {"Name": "module"} and __getattr__.
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_MODULES":
                for key, value in ast.literal_eval(node.value).items():
                    full = value if value.startswith(PACKAGES) else f"{self.package}.{value}"
                    found[key] = (full, key)
        return found


@cache
def module(name: str) -> Module | None:
    """One of our modules, parsed."""
    file = module_file(name)
    return Module(name, file) if file else None


def resolve(name: str, attribute: str) -> tuple[str, str] | None:
    """Where a name of a module is defined; None where it isn't ours."""
    seen = set()
    while (name, attribute) not in seen:
        seen.add((name, attribute))
        found = module(name)
        if found is None:
            return None
        if attribute in found.defined:
            return name, attribute
        origin = found.names.get(attribute)
        if origin is None or origin[1] is None:
            return None
        name, attribute = origin
    return None


@cache
def references(place: tuple[str, str]) -> frozenset[tuple[str, str]]:
    """The definitions that a definition refers to."""
    return frozenset(_references(place))


def _references(place: tuple[str, str]) -> Iterator[tuple[str, str]]:
    home = module(place[0])
    assert home is not None
    node = home.defined[place[1]]
    local = home.names | home.imports(node)
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            if one.id in home.defined and one.id != place[1]:
                yield home.name, one.id
            elif one.id in local and local[one.id][1] is not None:
                origin = resolve(*local[one.id])  # type: ignore[arg-type]
                if origin:
                    yield origin
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in local:
            owner, attribute = local[one.value.id]
            if attribute is None and (origin := resolve(owner, one.attr)):
                yield origin


def reachable(start: tuple[str, str]) -> set[tuple[str, str]]:
    """Every definition that is reached from one."""
    waiting, found = [start], {start}
    while waiting:
        for origin in references(waiting.pop()):
            if origin not in found:
                found.add(origin)
                waiting.append(origin)
    return found


def strings(place: tuple[str, str]) -> Iterator[tuple[int, str]]:
    """Line and text of the strings in a definition's raise statements, and of what else it says."""
    home = module(place[0])
    assert home is not None
    node = home.defined[place[1]]
    skipped = {id(text) for text in documentation(node)}
    for one in ast.walk(node):
        if isinstance(one, ast.JoinedStr):
            skipped |= {id(part) for part in one.values}
            yield (
                one.lineno,
                "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in one.values),
            )
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in skipped:
            yield one.lineno, one.value


def documentation(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the help texts of annotations."""
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            first = one.body[0]
            if isinstance(first, ast.Expr):
                yield first.value
        annotations = [getattr(one, "annotation", None)] if isinstance(one, ast.arg | ast.AnnAssign) else []
        for annotation in filter(None, annotations):
            yield from ast.walk(annotation)
