"""Settings of the recipe from the command line: text becomes changes of the recipe's fields.

The type of a field determines which texts are accepted; its dataclass rejects invalid values. Five settings are not
fields. Two select the recipe whose fields are changed: ``recipe=NAME``, and ``settings=framework`` for each framework's
own. ``scaling=weak`` gives each of several workers a whole batch, ``placement=spread`` a host of its own,
``placement=one_process`` a device of one process. ``exchange``
is how several workers exchange gradients.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import lru_cache
from itertools import product
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pytest_dlbench.environments.supports import ONE_PROCESS
from pytest_dlbench.errors import ModelError, OptionError, unknown_name
from pytest_dlbench.model import SGD, Recipe, Shape
from pytest_dlbench.model.shapes import show as show_shape
from pytest_dlbench.records.cases import plain_name
from pytest_dlbench.zoo import RECIPES
from pytest_dlbench.zoo.gatech import default_recipe

T = TypeVar("T")
Scalar = int | float | bool | str | None
Sweep = Mapping[str, tuple[Scalar, ...]]
"""The values of each setting, sorted by name."""

# Settings that are of no field of the recipe, and their values.
WHOLE = {
    "recipe": tuple(RECIPES),
    "settings": ("equal", "framework"),
    "scaling": ("strong", "weak"),
    "placement": ("together", "spread", ONE_PROCESS),
    "exchange": ("full", "fp16", "2bit", "server", "sharded", "device"),
}
# Two ways to give the length: setting one replaces the other.
_INSTEAD = {"epochs": "steps", "steps": "epochs"}
# A value that every recipe refuses is refused before the recipe is known.
_TRIAL = Recipe(batch_size=1, epochs=1, optimizer=SGD(0.1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field of a recipe or its optimiser, and its new value."""

    name: str
    value: Scalar

    @property
    def id(self) -> str:
        """Its part of a case's id: ``batch_size50``, ``init_framework``."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return f"{self.name}{'' if is_number else '_'}{show(self.value)}"


def show(value: Scalar) -> str:
    """A value as text; 0.010 and 1e-2 are the same value and have the same text."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return value if isinstance(value, str) else str(value).lower()


def parse(text: str, where: str) -> Sweep:
    """Parse ``batch_size=50,500,learning_rate=0.1`` into keys with their values; raises OptionError."""
    typed = _by_key(text, where)
    return {name: _values(name, typed[name], f"{where} {name}", where) for name in sorted(typed)}


def parse_any(text: str, where: str) -> tuple[Change, ...]:
    """Parse ``batch_size=64,depth=12``: settings of a recipe, of which ``refuse_unknown`` knows, or of a program.

    Raises OptionError, also for several values of one setting.
    """
    typed = _by_key(text, where)
    if several := [name for name, texts in typed.items() if len(texts) > 1]:
        raise OptionError(f"{where}: {several[0]} has several values; a side has one")
    return tuple(Change(name=name, value=_any(name, texts, where)) for name, texts in sorted(typed.items()))


def _any(name: str, texts: Sequence[str], where: str) -> Scalar:
    with suppress(OptionError):
        return _values(name, texts, f"{where} {name}", where)[0]
    named = {"none": None, "true": True, "false": False}
    text = texts[0]
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        # JSON, in which a program gets its parameters, has only finite numbers.
        with suppress(ValueError, OverflowError):
            if isfinite(value := kind(text)):
                return value
    return text


def refuse_unknown(changes: Iterable[Change], where: str) -> None:
    """Raise OptionError for changes that no recipe has, or whose values every recipe refuses."""
    for change in changes:
        _values(change.name, [show(change.value)], f"{where} {change.name}", where)


def points(sweep: Sweep) -> list[tuple[Change, ...]]:
    """Every combination of the values; the last setting varies fastest. Without settings, one point without changes."""
    axes = [[Change(name=name, value=value) for value in values] for name, values in sweep.items()]
    return list(product(*axes))


def chosen(recipe: Recipe, changes: Iterable[Change], framework: str, image: Shape) -> Recipe:
    """The recipe that ``recipe`` or ``settings`` selects, else the given one.

    Raises ModelError if a framework has no recipe of its own for such images.
    """
    values = {change.name: str(change.value) for change in changes if change.name in WHOLE}
    name = values.get("recipe", "")
    if values.get("settings") == "framework":
        if name:
            raise ModelError(f"recipe={name} and settings=framework are two recipes; give one of them")
        name = default_recipe(plain_name(framework), image)
        if not name:
            raise ModelError(
                f"no default settings of {framework} for inputs of {show_shape(image)} are known: those of TensorFlow"
                " and Theano for images of MNIST's and CIFAR-10's kind are (gatech)"
            )
    return RECIPES[name] if name else recipe


def changed(recipe: Recipe, changes: Iterable[Change]) -> Recipe:
    """The recipe with these settings; raises ModelError for unknown settings and invalid combinations."""
    values = {change.name: change.value for change in changes if change.name not in WHOLE}
    of_recipe: dict[str, Any] = {name: value for name, value in values.items() if name in _names(recipe)}
    of_optimizer = {name: value for name, value in values.items() if name not in of_recipe}
    if lacking := [name for name in of_optimizer if name not in _names(recipe.optimizer)]:
        own = ", ".join(_names(recipe.optimizer))
        raise ModelError(f"{type(recipe.optimizer).__name__} has no {' and no '.join(lacking)}; its settings: {own}")
    if of_optimizer:
        of_recipe["optimizer"] = _replaced(recipe.optimizer, of_optimizer)
    return _replaced(recipe, of_recipe) if of_recipe else recipe


def scaled(recipe: Recipe, changes: Iterable[Change], workers: int) -> Recipe:
    """The recipe for several workers: of the same batch, or with ``scaling=weak`` of that many batches in one."""
    is_weak = any(change.name == "scaling" and change.value == "weak" for change in changes)
    return replace(recipe, batch_size=recipe.batch_size * workers) if is_weak and workers > 1 else recipe


def hosts(changes: Iterable[Change], workers: int) -> int:
    """On how many hosts several workers are: on one, or with ``placement=spread`` on as many."""
    is_spread = any(change.name == "placement" and change.value == "spread" for change in changes)
    return workers if is_spread else 1


def _replaced(settings: T, values: Mapping[str, Any]) -> T:
    """The settings with new values; the dataclass itself refuses invalid ones."""
    replaced_by = {_INSTEAD[name]: None for name in values if name in _INSTEAD}
    replaced: T = replace(cast("Any", settings), **{**replaced_by, **values})
    return replaced


def _by_key(text: str, where: str) -> dict[str, list[str]]:
    typed: dict[str, list[str]] = {}
    key = ""
    for part in text.split(",") if text.strip() else ():
        name, begins_key, value = part.partition("=")
        if begins_key:
            key = name.strip()
            if key in typed:
                raise OptionError(f"{where}: {key} is set twice; give all its values together: {key}=1,2")
            typed[key] = []
        elif not key:
            raise OptionError(f"{where}: expected KEY=VALUE, such as batch_size=64 or batch_size=50,500, got {text!r}")
        typed[key].append((value if begins_key else part).strip())
    return typed


def _values(name: str, texts: Sequence[str], place: str, where: str) -> tuple[Scalar, ...]:
    known = _settable()
    if name not in known:
        raise OptionError(unknown_name("setting", name, where, known))
    values = tuple(_value(name, known[name], text, place) for text in texts)
    if twice := [show(value) for value in values if values.count(value) > 1]:
        raise OptionError(f"{place}: {twice[0]} is given twice; two cases would have the same id")
    return values


def _value(name: str, types: Sequence[Any], text: str, place: str) -> Scalar:
    for kind in types:
        if (read := _read(kind, text)) is not MISSING:
            if refusal := _refusal(name, read):
                raise OptionError(f"{place}: {refusal}")
            return cast("Scalar", read)
    expected = " or ".join(dict.fromkeys(_expected(kind) for kind in types))
    raise OptionError(f"{place}: expected {expected}, got {text!r}")


def _read(kind: Any, text: str) -> Any:
    """A text as a value of a type; MISSING if it is not one."""
    if kind is NoneType:
        return None if text == "none" else MISSING
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), MISSING)
    if kind is int:
        # Python refuses numbers with thousands of digits with an error of its own.
        return int(text) if text.isdecimal() and len(text) < 19 else MISSING
    if kind is float:
        return _number(text)
    return text if text in get_args(kind) else MISSING


def _number(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return MISSING
    # No setting of a recipe is negative; the sum makes -0 a plain 0.
    return number + 0.0 if isfinite(number) and number >= 0 else MISSING


def _expected(kind: Any) -> str:
    words = {NoneType: "none", bool: "true or false", int: "a whole number", float: "a finite number, 0 or more"}
    return words.get(kind) or f"one of {', '.join(map(str, get_args(kind)))}"


def _refusal(name: str, value: Scalar) -> str:
    """Why every recipe refuses a number; empty if one may accept it, depending on other settings."""
    if isinstance(value, bool | str | None):
        return ""
    refusals = []
    for trial in _trials():
        if name in _names(trial):
            try:
                _replaced(trial, {name: value})
            except ModelError as error:
                refusals.append(str(error))
            else:
                return ""
    return next(iter(refusals), "")


def _trials() -> Iterator[Any]:
    """A recipe, and an instance of each optimiser."""
    yield _TRIAL
    for kind in _optimizers():
        needed = [field.name for field in fields(kind) if field.default is MISSING and field.init]
        try:
            yield kind(**dict.fromkeys(needed, 0.1))
        except (ModelError, TypeError):
            # An optimiser that needs more than rates is checked when its recipe is known.
            continue


@lru_cache(maxsize=1)
def _settable() -> dict[str, tuple[Any, ...]]:
    """The accepted types of each setting; those of the recipe take precedence over an optimiser's."""
    found: dict[str, tuple[Any, ...]] = {name: (Literal[values],) for name, values in WHOLE.items()}
    kinds: tuple[Any, ...] = (Recipe, *_optimizers())
    for kind in kinds:
        hints = get_type_hints(kind)
        for field in fields(kind):
            types = tuple(filter(_is_scalar, _alternatives(hints[field.name])))
            # A field that can only be an object or None, such as a schedule, is not a setting.
            if types and types != (NoneType,):
                found.setdefault(field.name, types)
    return found


def _optimizers() -> tuple[type[Any], ...]:
    """Every class of optimiser."""
    declared = _alternatives(get_type_hints(Recipe)["optimizer"])
    return tuple(dict.fromkeys(kind for base in declared for kind in _family(base) if is_dataclass(kind)))


def _family(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for kind in base.__subclasses__():
        yield from _family(kind)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_scalar(kind: Any) -> bool:
    return kind in (NoneType, bool, int, float) or get_origin(kind) is Literal


def _names(settings: Any) -> list[str]:
    return [field.name for field in fields(settings)]
