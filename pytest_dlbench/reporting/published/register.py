"""The register of claims: what five studies claimed, and the rules that decide it."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import msgspec

from pytest_dlbench.judging.claim_cases import Named, Observed
from pytest_dlbench.judging.claim_rules import RULES, Rule, Scope
from pytest_dlbench.judging.claims import Decision, decide
from pytest_dlbench.reporting.published import names
from pytest_dlbench.reporting.published.placing import our_model
from pytest_dlbench.reporting.published.studies import HERE, figures, flaws

OF_SCOPE = frozenset(field.name for field in fields(Scope))
FRAMEWORKS = frozenset({"others", "frameworks"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim. ``table`` is where the study makes it; ``says`` is a summary in our words."""

    id: str
    source: str
    table: str
    says: str
    rules: tuple[Rule, ...]
    flaws: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A claim with what records say about it."""

    claim: Claim
    decision: Decision


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    source: str
    table: str
    says: str
    rules: tuple[dict[str, Any], ...]
    flaw: str = ""


@cache
def register() -> tuple[Claim, ...]:
    """All claims, study by study."""
    rows = tomllib.loads(HERE.joinpath("claims.toml").read_text("utf-8"))["claim"]
    return tuple(_claim(row) for row in msgspec.convert(rows, tuple[_Row, ...]))


def verdicts(claims: Iterable[Claim], cases: Sequence[Observed]) -> tuple[Verdict, ...]:
    """What recorded cases say about each claim."""
    return tuple(Verdict(claim=claim, decision=decide(claim.rules, cases)) for claim in claims)


def _claim(row: _Row) -> Claim:
    rules = tuple(_rule(dict(rule)) for rule in row.rules)
    known = dict.fromkeys([*([row.flaw] if row.flaw else []), *_flaws(row.source, rules)])
    return Claim(id=row.id, source=row.source, table=row.table, says=row.says, rules=rules, flaws=tuple(known))


def _rule(given: dict[str, Any]) -> Rule:
    kind = RULES[given.pop("kind")]
    scope = {name: given.pop(name) for name in OF_SCOPE & given.keys()}
    scoped: dict[str, Any] = {"scope": msgspec.convert(scope, Scope)}
    for name, value in given.items():
        scoped[name] = _typed(name, value)
    return kind(**scoped)


def _typed(name: str, value: Any) -> Any:
    if name == "first":
        return _named(value)
    if name in FRAMEWORKS:
        return tuple(map(_named, value))
    return tuple(value) if name == "between" else value


def _named(published: str) -> Named:
    return Named(published=published, ours=names.FRAMEWORKS.get(published, ()))


def _flaws(source: str, rules: Sequence[Rule]) -> Iterable[str]:
    """The known flaws of the cells that a claim is about; of a single framework's only if the claim names it."""
    models = {model for rule in rules for model in rule.scope.models}
    named = {name.published for rule in rules for name in rule.named}
    devices = {device for rule in rules for device in rule.scope.devices}
    for figure in figures(source):
        is_named = not named or figure.framework in named
        device = "cpu" if figure.gpus == "0" else "gpu"
        if is_named and device in devices and our_model(figure) in models:
            yield from flaws(figure)


def by_outcome(found: Iterable[Verdict]) -> Mapping[str, int]:
    """How many claims have each verdict."""
    counts: dict[str, int] = {}
    for one in found:
        counts[one.decision.outcome.value] = counts.get(one.decision.outcome.value, 0) + 1
    return counts
