"""A command line from a frozen dataclass: an option is written once, as a field with its help text."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer import Option


def command_from(
    config: type[Any],
    run: Callable[..., object],
    further: Mapping[str, Any] | None = None,
    panels: Mapping[str, Sequence[str]] | None = None,
    **rules: Any,
) -> Callable[..., None]:
    """The command that builds a `config` from the command line and gives it to `run`.

    A field is `name: Annotated[type, "help text"] = default`. One of type `tuple[X, ...]` is an option that
    may be given several times, unless a function follows the help text: that reads the option's text. A bool
    that is False by default is a flag without a `--no-` form.

    Args:
        config: a dataclass; light to import.
        run: carries it out; its docstring is the command's help.
        further: options beside the fields, None where they are not given: `run` gets them by name.
        panels: heading in the help text → fields below it; fields of none come first.
        rules: by field, a further annotation of the option.
    """
    hints = get_type_hints(config, include_extras=True)
    headings = {field: heading for heading, fields in (panels or {}).items() for field in fields}
    parameters, readers = [], {}
    for field in dataclasses.fields(config):
        kind: Any
        kind, text, *reader = get_args(hints[field.name])
        if reader:
            kind, readers[field.name] = str | None, reader[0]
        elif get_origin(kind) is tuple:
            kind, readers[field.name] = GenericAlias(list, get_args(kind)[:1]), tuple
        names = ["--" + field.name.replace("_", "-")] if field.default is False else []
        hint: Any = Annotated[kind, Option(*names, help=text, rich_help_panel=headings.get(field.name))]
        if field.name in rules:
            hint = Annotated[hint, rules[field.name]]
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty
        parameters.append(
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        )

    for name, hint in (further or {}).items():
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        )

    def command(**given: Any) -> None:
        for name, read in readers.items():
            if given[name] is not None:
                given[name] = read(given[name])
        beside = {name: given.pop(name) for name in further or ()}
        run(config(**given), **beside)

    command.__doc__ = run.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
