"""Compares a framework with golden losses, and certifies that it trains the same network."""

from dataclasses import replace

from pytest_dlbench.judging import equivalence
from pytest_dlbench.model import infer
from pytest_dlbench.planning.workers import uncertifiable
from pytest_dlbench.records import Certificate, Golden, Run, RunOutcome
from pytest_dlbench.records.reasons import Difference, OtherGoldenError
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session, Uncertified


def certify(session: Session, spec: NetworkSpec, golden: Golden, bound: float) -> tuple[Run, Certificate | None]:
    """Compare one run with the golden losses; store its certificate if it is equal, revoke it otherwise.

    The certificate is None if the run did not finish. Raises OtherGoldenError if the golden losses are for another
    network, data set or number of steps.
    """
    # Data that are not available have no digest; the run will report that.
    if spec.data.digest and (differences := _differences(spec, golden)):
        raise OtherGoldenError(spec.case.id, differences)
    (run,) = make_runs(session, replace(spec, evaluations=2, is_timed=False, is_saved=False), 1)
    if run.outcome is not RunOutcome.FINISHED:
        return run, None
    found = equivalence.certificate(spec.case, session.settings.context(spec), run, golden, bound)
    keep = session.certificates.write if equivalence.is_equal(found) else session.certificates.revoke
    keep(found)
    return run, found


def _differences(spec: NetworkSpec, golden: Golden) -> tuple[Difference, ...]:
    both = {
        "network": (golden.network_digest, spec.network.digest),
        "data set": (golden.dataset_digest, spec.data.digest),
        "steps": (len(golden.losses), spec.steps),
    }
    return tuple(
        Difference(name=name, baseline=expected, candidate=given)
        for name, (expected, given) in both.items()
        if expected != given
    )


def certificate_of(session: Session, spec: RunSpec, run: Run) -> Certificate | None:
    """The certificate that is valid for the versions of a run, if there is one."""
    if not isinstance(spec, NetworkSpec) or spec.purpose == "inference":
        return None
    # Frameworks cannot share dropout masks: equivalence is certified for the network without dropout.
    network = infer(spec.network.model.without_dropout())
    if uncertifiable(spec.case, network, spec.framework):
        return None
    trained = Uncertified(
        case=spec.case,
        context=session.settings.context(spec),
        network_digest=network.digest,
        versions=equivalence.of_framework(run.versions),
    )
    found = session.certificates.find(spec.case, trained.context.machine.name, network.digest)
    if found and _holds(found, trained):
        return found
    session.uncertified.append(trained)
    return None


def trained_before(session: Session, certificate: Certificate) -> frozenset[str]:
    """The ids of the session's cases that a certificate holds for, and that were trained before it existed."""
    return frozenset(one.case.id for one in session.uncertified if _holds(certificate, one))


def _holds(certificate: Certificate, of: Uncertified) -> bool:
    names = ("framework", "model", "dataset", "device", "workers")
    is_its_cell = all(getattr(certificate, name) == getattr(of.case, name) for name in names)
    is_its_network = certificate.network_digest == of.network_digest
    is_its_version = certificate.versions == of.versions
    return is_its_cell and is_its_network and is_its_version and equivalence.covers(certificate, of.context)
