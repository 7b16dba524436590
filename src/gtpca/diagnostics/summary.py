"""``check``: all diagnostics of a fitted model and its samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gtpca.data.rows import is_dask
from gtpca.diagnostics import wording
from gtpca.diagnostics.noise import NoiseFloor, noise_floor
from gtpca.diagnostics.poses import PoseConfidence, confidence_if_complete
from gtpca.diagnostics.recordings import EventCheck, check_events
from gtpca.diagnostics.splits import Stability, stability
from gtpca.fitting.wording import speak_of_colour
from gtpca.operators.poses import has_own_search, is_still
from gtpca.recordings import EventGTPCA
from gtpca.views.parts import is_density

__all__ = ["Check", "check", "quick_check"]

QUICK = 5e6  # products per pass of all fits of a check that takes less time than the page
LEAST = 10  # rows; of fewer, the noise is not known


@dataclass(frozen=True, eq=False)
class Check:
    """The results of all diagnostics.

    Attributes
    ----------
    noise : NoiseFloor
    stability : Stability or None
        None after a quick check.
    poses : PoseConfidence or None
        None if samples have gaps, or if the family has no list of transforms: poses are not
        compared then.
    doubt : str or None
        Evidence of held-out rows against a pattern of a density: its ``doubt_``.
    cautions : tuple of str
        The warnings of the fit: ``cautions_`` of the model.
    strength : float or None
        Norm of the pattern of a density, in standard deviations of the noise: its ``strength_``.
    no_poses : str
        Why poses are not compared, if they are not.
    """

    noise: NoiseFloor
    stability: Stability | None
    poses: PoseConfidence | None
    doubt: str | None = None
    cautions: tuple[str, ...] = ()
    strength: float | None = None
    no_poses: str = wording.GAPS

    @property
    def sentence(self) -> str:
        """What matters most, and what to do next.

        The first sentence about something wrong; if there is none, the one about noise. If nothing
        was found, a caution that noise is not white comes first: it can hide a pattern.
        """
        coloured = speak_of_colour(self.cautions[:1])
        if self.doubt is not None and not coloured:
            return self._no_pattern
        if self.cautions and (coloured or self.noise.n_real > 0):
            return wording.caution(self.cautions[0])
        found = self.answers.values()
        first = next((each for each in found if not each.passed), self.noise)
        faint = self.strength is not None and self.strength < wording.CLEAR_STRENGTH
        if isinstance(first, PoseConfidence) and faint:
            return wording.faint(self.strength, first.sentence)
        return first.sentence

    def advice(self, model="MODEL", data="DATA", reading=None, again=()) -> str:
        """The sentence with the names of files; see :meth:`NoiseFloor.advice`."""
        return self.named(model, data, reading, again).sentence

    def named(self, model, data, reading=None, again=()) -> Check:
        """The same, with sentences that name files; see :meth:`NoiseFloor.advice`."""
        files = (model, data, reading, again)
        named = {name: each.named(*files) for name, each in self.answers.items()}
        return replace(self, **named)

    @property
    def on_page(self) -> Check:
        """The same for the page of the model: no sentence sends its reader there."""
        answers = self.answers.items()
        there = {n: replace(v, commands=replace(v.commands, on_page=True)) for n, v in answers}
        return replace(self, **there)

    @property
    def answers(self) -> dict[str, Any]:
        """The available results, by name."""
        found = {"noise": self.noise, "stability": self.stability, "poses": self.poses}
        return {name: answer for name, answer in found.items() if answer is not None}

    @property
    def unanswered(self) -> list[str]:
        """Why a result is missing, in words."""
        repeated = [wording.NOT_REPEATED] if self.stability is None else []
        return repeated + ([self.no_poses] if self.poses is None else [])

    @property
    def _no_pattern(self) -> str:
        return wording.no_pattern(self.doubt, self.noise.commands, self.cautions)

    def __str__(self) -> str:
        said = [] if self.doubt is None else [self._no_pattern]
        place = len(said) if not speak_of_colour(self.cautions[:1]) else 0
        said[place:place] = map(wording.caution, self.cautions)
        return "\n\n".join([*said, *map(str, self.answers.values()), *self.unanswered])


def check(
    model, X, *, quick=False, n_jobs=None, random_state=0, progress=None
) -> Check | EventCheck:
    """Run :func:`noise_floor`, :func:`stability` and :func:`pose_confidence`.

    The last needs samples without gaps, and a family with a list of transforms; otherwise it is
    omitted. For recordings, events are
    counted with templates of halves and in noise, and templates of halves are compared.

    Parameters
    ----------
    model : GTPCA, ProbabilisticGTPCA or EventGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d), or recordings
        The training data.
    quick : bool
        Test only as much as the verdict about noise needs (``verdict_only`` of
        :func:`noise_floor`), and no halves of the samples; it does not change the check of
        recordings.
    n_jobs : int or None
        Threads.
    random_state : int, RandomState or None
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.

    Returns
    -------
    Check, or EventCheck of recordings
    """
    if isinstance(model, EventGTPCA):
        return check_events(model, X, n_jobs=n_jobs, random_state=random_state)
    return _check_samples(model, X, quick, n_jobs, random_state, progress)


def _check_samples(model, X, quick, n_jobs=None, random_state=0, progress=None) -> Check:
    """All answers about samples, or the quick ones."""
    density = is_density(model)
    return Check(
        noise_floor(
            model,
            X,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            verdict_only=quick,
        ),
        None
        if quick
        else stability(model, X, n_jobs=n_jobs, random_state=random_state, progress=progress),
        confidence_if_complete(model, X, n_jobs=n_jobs, progress=progress),
        model.doubt_ if density else None,
        tuple(model.cautions_),
        model.strength_ if density else None,
        wording.OWN_POSES if has_own_search(model.operator_) else wording.GAPS,
    )


def quick_check(model, X) -> Check | None:
    """A quick :func:`check` of small data, which takes a second or a few; None elsewhere.

    A fit takes about ``n m (d + L)`` products per direction and pass, with ``m`` transforms of
    ``d`` values and ``L`` weights. There is none for kinds or recordings, or for samples that are
    not as many as those of the fit, or are Dask arrays.
    """
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    seen = getattr(model, "n_samples_seen_", None)
    if model.of_recordings or model.has_kinds or is_dask(X) or n_rows != seen or n_rows < LEAST:
        return None
    operator = model.operator_
    size = operator.n_transforms * (operator.n_features + operator.n_weights)
    cost = n_rows * size * (model.n_components_ + is_density(model)) ** 2
    if is_still(operator) or not 0 < cost <= QUICK:
        return None
    try:
        return _check_samples(model, X, quick=True)
    except ValueError:  # samples that no test can be made of, such as zeros
        return None
