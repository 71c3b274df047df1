"""What is wrong with an answer of `robust`, `choice_aware` or `smooth`, if anything.

Their likelihoods are mixtures as well: of columns c_m(x) a_m(z|x), and of a column for each atom.
So the oracle of `gibu` is the oracle of these, given what they say of choices and forged reports.
"""

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import readable
from tools.stress.judges import intervals_hold, not_finite, off_the_simplex, uncertified
from tools.stress.laws import Long
from tools.stress.oracle import Oracle
from tools.stress.subject import Subject, pair_logs

_SLACK = 1e-9
"""Of a log-likelihood: what choice laws lose when they are rounded."""


def robust(subject: Subject, estimate: fw.RobustEstimate) -> str:
    """Judge theta and forged reports: L and the gap of both, given the shares of the honest.

    With phi the shares of reports set aside and r the `honest_shares`,
    p_mz = (1 - sum phi) r_m (theta A_m)_z + phi_mz, and L is less sum s_m log s_m. Where theta is
    that of a choice law, it is certified given that.
    """
    fault = off_the_simplex(estimate.theta) or not_finite(
        L=estimate.log_likelihood, gap=estimate.gap, forged=estimate.forged
    )
    if fault or estimate.aware is not None:
        return fault or _by_choice(subject, estimate, estimate.aware)
    bits = {str(mechanism) for mechanism, part in subject.by_mechanism if part.kind == "rappor"}
    for some in estimate.set_aside:
        if some.mechanism in bits or not 0 < some.reports <= some.observed:
            return f"set aside: {some}"
    forged = _forged(subject, estimate)
    if forged is None:
        return ""
    logs, people = pair_logs(subject)
    shares = np.array(people, dtype=np.longdouble) / subject.people
    order = [mechanism.id for mechanism in estimate.mechanisms]
    honest = estimate.honest_shares[[order.index(one.id) for one, _ in subject.by_mechanism]]
    if abs(honest.sum() - 1) > _SLACK:
        return f"shares of the honest sum to {honest.sum()!r}"
    honest = np.maximum(honest, np.finfo(np.float64).tiny).astype(np.longdouble)
    rows = np.concatenate([own + np.log(r) for own, r in zip(logs, honest, strict=True)])
    weight = np.concatenate(forged)
    atoms = np.flatnonzero(weight)
    columns = np.full((len(rows), atoms.size), -np.longdouble(np.inf))
    columns[atoms, np.arange(atoms.size)] = 0
    counts = np.concatenate([part.counts for _, part in subject.by_mechanism])
    oracle = Oracle(np.hstack([rows, columns]), counts)
    theta = np.append((1 - weight.sum()) * estimate.theta, weight[atoms]).astype(np.float64)
    theta /= theta.sum()
    # Half a report on an atom is none.
    slack = _SLACK + (1 + atoms.size) / subject.people if atoms.size else _SLACK
    offset = float(shares @ np.log(shares))
    return uncertified(oracle, _shifted(estimate, offset), theta, slack)


def _by_choice(
    subject: Subject, estimate: fw.RobustEstimate, aware: fw.ChoiceAwareEstimate | None
) -> str:
    """Judge theta where it is that of a choice law: with nothing set aside, and by that law."""
    if aware is None or estimate.set_aside or not np.array_equal(estimate.theta, aware.theta):
        return "theta is not that of the choice law, or reports are set aside beside it"
    return choice_aware(subject, aware)


def _forged(subject: Subject, estimate: fw.RobustEstimate) -> list[FloatArray] | None:
    """Return the share of all reports that is forged, an output; None where names are not clear."""
    named = [str(mechanism) for mechanism, _ in subject.by_mechanism]
    if len(set(named)) < len(named):
        return None
    reports = {(some.mechanism, str(some.output)): some.reports for some in estimate.set_aside}
    shares, used = [], 0
    for name, (mechanism, part) in zip(named, subject.by_mechanism, strict=True):
        own = np.zeros(len(part.counts))
        if (alphabet := mechanism.output_space.alphabet) is not None:
            words = readable(alphabet, part.outputs)
            for place, word in enumerate(map(str, words)):
                if (name, word) in reports:
                    own[place] = reports[name, word] / subject.people
                    used += 1
        shares.append(own)
    return shares if used == len(reports) else None


class _Shifted:
    """L and the gap of an estimate, as those of pairs."""

    def __init__(self, log_likelihood: float, gap: float) -> None:
        self.log_likelihood, self.gap = log_likelihood, gap


def _shifted(estimate: fw.Estimate, offset: float) -> _Shifted:
    return _Shifted(estimate.log_likelihood + offset, estimate.gap)


def choice_aware(subject: Subject, estimate: fw.ChoiceAwareEstimate) -> str:
    """Judge theta given the choice law: L = sum w log sum_x theta c_m(x) a_m(z|x), and its gap."""
    fault = off_the_simplex(estimate.theta) or not_finite(
        L=estimate.log_likelihood,
        gap=estimate.gap,
        choice=estimate.choice,
        criterion=[fit.criterion for fit in estimate.fits],
        likelihood_ratio=estimate.likelihood_ratio,
    )
    if fault:
        return fault
    choice = estimate.choice
    if choice.min() < 0 or np.abs(choice.sum(axis=1) - 1).max() > _SLACK:
        return f"a choice law from {choice.min()}, that sums to {choice.sum(axis=1).max()}"
    rows: list[Long] = []
    logs, _ = pair_logs(subject)
    order = [mechanism.id for mechanism in estimate.mechanisms]
    for own, (mechanism, _part) in zip(logs, subject.by_mechanism, strict=True):
        chosen = choice[:, order.index(mechanism.id)].astype(np.longdouble)
        with np.errstate(divide="ignore"):
            rows.append(own + np.log(chosen))
    counts = np.concatenate([part.counts for _, part in subject.by_mechanism])
    oracle = Oracle(np.concatenate(rows), counts)
    fault = uncertified(oracle, estimate, estimate.theta, _SLACK)
    return fault or intervals_hold(estimate.intervals(subject.rows))


def shrunk(subject: Subject, estimate: fw.ShrunkEstimate) -> str:
    """Judge the most likely theta of reports and of m people who are spread evenly.

    Per person who reported, L + m / (n k) sum log theta has the gap (1 + m / n) log max G, with
    G = (n g + m / (k theta)) / (n + m).
    """
    fault = off_the_simplex(estimate.theta) or not_finite(
        L=estimate.log_likelihood, gap=estimate.gap, strength=estimate.strength, df=estimate.df
    )
    if fault or not estimate.theta.min() > 0:
        return fault or f"theta has {estimate.theta.min()}"
    truth, people = subject.oracle.truth(estimate.theta), subject.people
    if abs(truth.value - estimate.log_likelihood) > truth.value_error + _SLACK:
        return f"L is {estimate.log_likelihood!r}, true {truth.value!r}"
    pull = estimate.strength / people
    slope = subject.oracle.slope(estimate.theta) + 1 + pull / subject.size / estimate.theta
    gap = (1 + pull) * float(np.log(slope.max() / (1 + pull)))
    if gap > estimate.gap + (1 + pull) * truth.gap_error + _SLACK:
        return f"the gap is understated: told {estimate.gap:.4g}, true {gap:.4g}"
    return "" if -_SLACK <= estimate.df <= subject.size else f"{estimate.df} shares are told"


def smooth(subject: Subject, estimate: fw.SmoothEstimate) -> str:
    """Judge an average of fits: each likely as told, the best no worse than no smoothing.

    The gap is of each fit within its own sieve, and no bound of the average.
    """
    fault = off_the_simplex(estimate.theta) or not_finite(
        L=estimate.log_likelihood, gap=estimate.gap, width=estimate.width
    )
    if fault:
        return fault
    fits, best = estimate.fits, subject.fit.maximum
    off = np.abs(sum(fit.weight * fit.theta for fit in fits) - estimate.theta).max()
    if off > _SLACK:
        return f"theta is {off:.3g} off the average of its fits"
    likely = [("the average", estimate.theta, estimate.log_likelihood)]
    likely += [
        (f"width {fit.width:.3g}", fit.theta, fit.log_likelihood) for fit in fits if fit.weight
    ]
    for name, theta, told in likely:
        truth = subject.oracle.truth(theta)
        if abs(truth.value - told) > truth.value_error + _SLACK:
            return f"{name}: L is {told!r}, true {truth.value!r}"
        if truth.value > best.log_likelihood + best.gap + truth.value_error:
            return f"{name}: L is {truth.value!r}, and the most likely theta has less"
    raw, chosen = fits[0], max(fits, key=lambda fit: fit.score)
    fair = chosen.weight > 0 and chosen.score >= raw.score
    return "" if fair else f"the best score is {chosen.score:.6g}, unsmoothed {raw.score:.6g}"
