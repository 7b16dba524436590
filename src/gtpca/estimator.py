"""GTPCA: checks, opens rows, calls the core, and publishes what it found."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.base import BaseGTPCA
from gtpca.data.chunks import RESIDUALS, as_chunks
from gtpca.data.labels import Labelled
from gtpca.data.missing import MISSING
from gtpca.data.orientation import neighbours
from gtpca.data.rows import counted, new_rows, training_rows
from gtpca.families.base import Family, check_size
from gtpca.families.text import as_family
from gtpca.fitting import bar, wording
from gtpca.fitting.cautions import colour_cautions
from gtpca.fitting.coloured import (
    check_noise,
    fit_coloured,
    given_noise,
    is_white,
    n_first_fits,
    residual,
    residual_correlation,
)
from gtpca.fitting.cost import check_cost, guess
from gtpca.fitting.fit import Fit, Progress, Recipe, fit, show_log
from gtpca.fitting.outliers import OUTLIERS, feature_medians
from gtpca.fitting.streaming import N_FITS, KeptRows, Stream
from gtpca.model import outputs
from gtpca.model.conventions import SAME, kept_signs
from gtpca.model.matching import POLARITIES
from gtpca.model.model import Model
from gtpca.model.preprocessing import Preprocessing, feature_means
from gtpca.model.ridge import AUTO, COST
from gtpca.model.stationary import StationaryNoise
from gtpca.operators.base import weigh_features, with_feature_weight
from gtpca.shell import (
    ArrayLike,
    CallbackSupportMixin,
    DaskT,
    Eager,
    RandomState,
    Shape,
    with_callbacks,
)
from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem, SolverResult

__all__ = [
    *("FROZEN", "GTPCA", "bind_family", "check_n_components", "check_parameters"),
    *("unchanged_by_errors", "warn_if_transposed"),
]

RULES = {
    "polarity": checks.one_of(*POLARITIES),
    "output": checks.one_of(*outputs.OUTPUTS),
    "center": checks.one_of(False, True, "samples"),
    "shared_pose": checks.one_of(False, True),
    "missing": checks.one_of(*MISSING),
    "noise": check_noise,
    "outliers": checks.one_of(*OUTLIERS),
    "residual": checks.one_of(*RESIDUALS),
    "ridge": checks.auto_or(checks.non_negative),
    "refine": checks.at_least(0),
    "n_restarts": checks.auto_or(checks.at_least(1)),
    "batch_size": checks.optional(checks.at_least(1)),
    "horizon": checks.optional(checks.at_least(1)),
    "progress": checks.one_of("auto", True, False),
}
LEAST_DOMAIN = 0.5  # share of the points below which a fit warns
TINY = np.finfo(float).tiny
FROZEN = ("polarity", "center", "shared_pose")  # decide about scores, and are kept by a fit


class GTPCA(CallbackSupportMixin, BaseGTPCA):
    r"""General transform-invariant principal component analysis.

    Component ``k`` may be moved by any transform :math:`T` of a family to fit each sample:

    .. math:: w_k = \arg\max_w \sum_i \max_T \frac{\langle r_i, T w\rangle^2}{|T w|^2},

    where :math:`r_i` is what the components before it left of sample :math:`i`. Each sample gets a
    signed *score* and a *pose* (which transform) on every component.

    A fit keeps what decides about scores. Of the parameters, ``refine``, ``missing``, ``output``,
    ``sample_dim``, ``batch_size`` and ``n_jobs`` may be changed after it; all others take effect
    with the next fit.

    Parameters
    ----------
    n_components : int or float in (0, 1)
        Number of components, or the share of the energy to explain.
    family : Family, str or None
        The transforms, such as ``Shift(window=100)``, or the same as text, as on the command line:
        ``"shift(window=100)"``. None is ``Identity()``: ordinary PCA.
    sample_shape : tuple of int or None
        Shape of one sample if ``X`` holds flat rows; default: ``X.shape[1:]``. Lists of samples of
        unequal size are padded to it; default: to the largest.
    sample_dim : str or None
        The dimension of a DataArray that holds the samples; default: its first one. May be changed
        after a fit.
    shared_pose : bool
        False: every component finds its own pose of every sample, as in the paper. True: each
        sample is one object, moved as a whole; all components share its pose. With several of them
        a pose may be off while they make up for it: for latencies take ``n_components=1`` or
        :class:`ProbabilisticGTPCA`.
    polarity : {"both", "positive"}
        "both": the largest absolute product decides, scores have a sign. "positive": the largest
        signed product decides, so that a component never matches upside down; a row that nothing
        fits upright scores 0.
    center : False, True or "samples"
        Subtract nothing, the mean of every feature, or the mean of each row and channel. Energies
        and ``resmse`` are those of the rows after this. The means of "samples" are not restored.
    feature_weight : array of the shape of a sample or None
        Non-negative weights ``q`` of the inner product ``sum_j q_j x_j y_j``; for functions on an
        uneven grid see :func:`gtpca.quadrature`.
    missing : {"error", "ignore"}
        What NaN, masked values, None and pandas' NA are: an error, or *not observed*. Then matches,
        means and energies are those of what was observed; in gaps a component is drawn to zero with
        a weight of .02, without which poses would win in which hardly anything of it is seen. May
        be changed after a fit.
    noise : {"white", "stationary"}, array (n, \*sample_shape), Covariance or StationaryNoise
        "white": as in the paper. "stationary", for families that shift along axes: rows are made
        white by a filter that is estimated from them, and again from what a first fit leaves;
        components are found there. ``components_``, scores and what is decoded are in the units of
        the data, energies and ``resmse`` those of whitened rows. An array is samples of noise alone
        that the filter is estimated from, such as baseline periods: of any length along the axes
        that shift. A noise covariance of MNE makes channels uncorrelated, in noise that is white in
        time. ``noise_`` of another model is taken as it is. Rows are centred first; a feature
        weight counts what is whitened.
    outliers : {None, "rows", "values", "both"}
        What is set aside as an artefact: rows whose residual is many times that of most others
        count less and less; values far off what components show are hidden, as gaps are; or both.
        ``row_weight_`` and ``rejected_`` say which. Energies are those of what is kept, and
        ``center=True`` takes medians; components are in the order of what they show. Codes of rows
        are found from all their values, artefacts included. For rows in memory, in white noise,
        without ``partial_fit``; values need a number of components.
    ridge : "auto" or float
        For windows of which rows see a part, as with crops: components minimise ``sum_i |r_i - a_i
        T_i w|^2 + ridge a_i^2 |w|^2``. Without a ridge, parts of a window that no row sees together
        have no common scale, and one component can hold two patterns. 0: none, as in the paper.
        "auto": 0.05, up to the first component of which it would leave 0.4 % more; none with a
        shared pose, or with solvers other than ``ALS``. Codes are taken without it; where nothing
        is cropped it has no effect.
    refine : int
        Joint sweeps over components and codes after the greedy fit, and code sweeps in ``encode``.
        May be changed after a fit, for ``encode`` and all that follows from it.
    output : {"scores", "scores+poses", "scores+units"}
        What ``transform`` returns: (n, k) scores; (n, 2 k) scores and transform indices, which
        ``inverse_transform`` takes; or scores and poses in a person's units, such as the ``start``
        of a window, with a column per component and quantity. May be changed after a fit.
    solver : ALS, gtpca.nn.Adam or None
        Default ``ALS()``.
    n_restarts : "auto" or int
        How often to fit, from other starts each time; the fit that explains most is kept. "auto":
        one fit, but with ``ALS`` more starts where optima are many or starts are cheap. A block in
        one pose grows from two beginnings, and both are finished instead of the better one; of up
        to 1024 rows from three, of which two are. Where a few loud rows have a tenth of the energy
        for themselves, a block grows from six beginnings, of which three are finished, and every
        component with poses of its own is looked for four times.
    batch_size : int or None
        Rows per chunk; default: a few megabytes. May be changed after a fit.
    residual : {"auto", "memory", "scratch", "recompute"}
        Where what is left of the rows is kept during a fit: in memory, in a temporary file, or
        nowhere (it follows from the rows and their codes). "auto": in memory if the rows are.
        For Dask arrays, "memory" is that of the workers.
    horizon : int or None
        About how many rows ``partial_fit`` remembers: a row that came ``a`` rows ago counts
        ``exp(-a / horizon)``. None: the last sixth of all rows seen, for data that do not drift.
    n_jobs : int or None
        Threads over chunks of rows; None is 1. It does not change the result, and
        may be changed after a fit.
    random_state : int, RandomState or None
    verbose : int
        Above 0, each component is reported through ``logging`` (logger "gtpca").
    progress : {"auto", True, False}
        "auto": a bar in notebooks, and on terminals if rich is there, with the number of
        components, if a fit takes more than some seconds. May be changed after a fit.

    Attributes
    ----------
    components_ : array (k, \*weight_shape)
        Unit norm, in the order in which they were found, or of their energy if the pose is
        shared or ``refine`` is on.
    explained_energy_, explained_energy_ratio_ : array (k,)
        Energy explained by each component, and its share of the energy of all rows. With ``refine``
        it is that of the codes that the sweeps of the fit ended with. ``score`` and ``resmse`` find
        codes of rows anew, also of those of the fit, and may find others: theirs is a little less
        as a rule, and what new rows compare with.
    n_components_ : int
    n_iter_ : array (k,), or (1,) if the pose is shared and there is more than one
        Passes over all rows.
    history_ : list of arrays
        Explained energy of each pass, less the penalty of a ridge, for each entry of ``n_iter_``.
    ridge_ : array like ``n_iter_``
        The ridge that each was found with; zeros where there was none.
    mean_ : array of the shape of a sample or None
    noise_ : StationaryNoise or None
        The filter that makes rows white; its ``spectrum()`` is that of the noise. None where
        ``noise="white"``.
    whitened_components_ : array (k, \*weight_shape) or None
        What whitened rows show of each component; its norm says how far a component of unit size
        stands out of the noise.
    row_weight_ : array (n,) or None
        With ``outliers="rows"`` or "both", how much each row of the fit counted at last, from 0 to
        1: about .8 for a row like most others, less than .1 for what may be called set aside.
    rejected_ : bool array (n, \*sample_shape) or None
        With ``outliers="values"`` or "both", which values were hidden at last.
    losses_ : list of arrays or None
        With ``outliers``, the loss after every round of weights, mask and climb, for each entry of
        ``n_iter_``: it does not rise but by rounding. See :mod:`gtpca.fitting.outliers`.
    data_resmse_ : array (k,), or (1,) if the pose is shared, or None
        Residual energy over energy of the training rows in the units of the data, after 1, .., k
        components, or after all.
    residual_correlation_ : float or None
        Lag-one correlation of what the components leave of training rows in memory, where noise is
        taken to be white and a family shifts along axes.
    polarity_, center_, shared_pose_
        What these parameters were in the fit.
    sample_shape_ : tuple of int
    labels_ : Labels or None
        Names, units and positions of the axes, if the samples came with them.
    operator_ : Operator
        The family, bound to ``sample_shape_``.
    n_features_in_ : int
    n_samples_seen_ : int
        Rows of the fit and of all batches since.
    cautions_ : list of str
        What the fit warned of: an offset that holds most of the energy, poses that pile up.
    online_ : dict
        After ``partial_fit``: faded sums and the first rows.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Shift
    >>> pulse = np.array([1.0, 3.0, 1.0])
    >>> X = np.zeros((20, 12))
    >>> for i in range(20):
    ...     X[i, i % 10 : i % 10 + 3] = pulse
    >>> model = GTPCA(n_components=1, family=Shift(window=3), random_state=0).fit(X)
    >>> bool(model.score(X) > 0.999)
    True
    >>> model.poses(model.encode(X[:4]))["start"].ravel()
    array([0, 1, 2, 3])
    """

    explained_energy_: np.ndarray
    explained_energy_ratio_: np.ndarray
    n_iter_: np.ndarray
    history_: list[np.ndarray]
    ridge_: np.ndarray
    mean_: np.ndarray | None
    polarity_: str
    center_: bool | str
    shared_pose_: bool
    n_samples_seen_: int
    cautions_: list[str]
    online_: dict[str, Any]
    noise_: StationaryNoise | None = None  # files may be older than these
    whitened_components_: Any = None
    data_resmse_: np.ndarray | None = None
    residual_correlation_: float | None = None
    row_weight_: np.ndarray | None = None
    rejected_: np.ndarray | None = None
    losses_: list[np.ndarray] | None = None

    def __init__(
        self,
        n_components: int | float = 2,
        family: Family | str | None = None,
        *,
        sample_shape: Shape | None = None,
        sample_dim: str | None = None,
        shared_pose: bool = False,
        polarity: Literal["both", "positive"] = "both",
        center: bool | Literal["samples"] = False,
        feature_weight: ArrayLike | None = None,
        missing: Literal["error", "ignore"] = "error",
        noise: Any = "white",
        outliers: Literal["rows", "values", "both"] | None = None,
        ridge: float | Literal["auto"] = "auto",
        refine: int = 0,
        output: Literal["scores", "scores+poses", "scores+units"] = "scores",
        solver: Any = None,
        n_restarts: int | Literal["auto"] = "auto",
        batch_size: int | None = None,
        residual: Literal["auto", "memory", "scratch", "recompute"] = "auto",
        horizon: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        progress: bool | Literal["auto"] = "auto",
    ):
        self.n_components = n_components
        self.family = family
        self.sample_shape = sample_shape
        self.sample_dim = sample_dim
        self.shared_pose = shared_pose
        self.polarity = polarity
        self.center = center
        self.feature_weight = feature_weight
        self.missing = missing
        self.noise = noise
        self.outliers = outliers
        self.ridge = ridge
        self.refine = refine
        self.output = output
        self.solver = solver
        self.n_restarts = n_restarts
        self.batch_size = batch_size
        self.residual = residual
        self.horizon = horizon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def set_params(self, **params: Any) -> Self:
        """Set parameters; also ``solver__n_init`` of the default, ``family__window`` of a text."""
        if self.solver is None and any(name.startswith("solver__") for name in params):
            params.setdefault("solver", ALS())
        return super().set_params(**params)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the components of ``X``.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Also a memory map, an h5py dataset, a zarr array, or a Dask array, which are read chunk
            by chunk and never held in memory as a whole. A DataArray of xarray and other containers
            bring the names and units of their axes along. With ``missing="ignore"`` also a list of
            samples of unequal size, which :func:`gtpca.pad` makes one array of.
        y : ignored
        sample_weight : array (n,) or None
            Non-negative; weight 2 is the same as a row given twice.

        Returns
        -------
        self
        """
        with unchanged_by_errors(self), bar.shown(self) if bar.LOOKED_AT else nullcontext():
            return self._fit(X, sample_weight)

    @with_callbacks
    def _fit(self, X, sample_weight):
        solver = check_parameters(self)
        rows, row_shape, shape = training_rows(self, X, self.sample_shape)
        labels = None if rows.container is None else rows.container.labels
        operator = self.bind(shape)
        count = check_n_components(self.n_components, operator, self.shared_pose)
        warn_early(self, operator, rows.n_rows)
        warn_if_transposed(operator, rows)
        open_rows = partial(self._open, operator=operator, weight=sample_weight)
        means = self._means_of(rows)
        mean = means(open_rows(rows)) if self.center is True else None
        preprocessing = Preprocessing(mean, self.center == "samples")
        noise = given_noise(self.noise, operator, preprocessing)
        n_fits = 1 if self.n_restarts == "auto" else self.n_restarts
        known = None if self.shared_pose or count != int(count) else count * n_fits
        known = known if is_white(self.noise) or noise is not None else None
        known = known if self.outliers is None else None
        context = self._init_callback_context(max_subtasks=known)
        context.call_on_fit_task_begin(estimator=self)
        recipe = Recipe(
            n_components=count,
            solver=solver,
            refine=self.refine,
            n_jobs=self.n_jobs,
            rng=check_random_state(self.random_state),
            progress=Progress(self, context),
            shared_pose=self.shared_pose,
            n_restarts=self.n_restarts,
            outliers=self.outliers,
        )

        def problem_of(preprocessing):
            seen = rows.preprocessed(partial(preprocessing, operator=operator))
            return Problem(open_rows(seen), self.polarity, **ridge_of(self, operator))

        problem = problem_of(preprocessing)
        cost = guess(problem, recipe).times(1 + n_first_fits(self.noise, rows.n_rows))
        check_cost(cost, as_family(self.family), recipe.progress.log)
        if is_white(self.noise):
            found = fit(problem, recipe, preprocessing)
        else:
            centred = rows.preprocessed(partial(preprocessing.centred, operator=operator))
            chunks = self._open(centred, with_feature_weight(operator, None), sample_weight)
            found = fit_coloured(problem_of, chunks, preprocessing, noise, recipe)
        self.adopt(found, row_shape, labels=labels)
        if rows.in_memory and is_white(self.noise):
            self._look_for_colour(self._open(rows, operator))
        for caution in self.cautions_:
            checks.warn(caution, UserWarning)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _means_of(self, rows):
        """What is subtracted where features are centred, a function of chunks.

        Where artefacts are set aside these are medians, and rows must be in memory.
        """
        if self.outliers is None:
            return feature_means
        if not rows.in_memory:
            raise ValueError(
                f"outliers={self.outliers!r} needs samples in memory: load them, such as by "
                "np.asarray(X), or use outliers=None."
            )
        return feature_medians

    def _look_for_colour(self, chunks):
        """The correlation of what the components leave of rows, and what is to be said of it."""
        self.residual_correlation_ = residual_correlation(chunks, self._rest)
        left = 1 - float(np.sum(self.explained_energy_ratio_))
        count = chunks.n_rows * self.n_features_in_
        said = colour_cautions(self.residual_correlation_, left, count)
        self.cautions_ = wording.in_order([*self.cautions_, *said])

    def _rest(self, chunk):
        """What the components leave of rows as they came, (n, d)."""
        model = self._model()
        return residual(
            replace(chunk, rows=model.preprocessing.centred(chunk.rows, chunk.operator)), model
        )

    def bind(self, sample_shape):
        """The operator of the family on samples of a shape, in the inner product of the weight."""
        return bind_family(self.family, sample_shape, self.feature_weight)

    def _preprocessed(self, rows):
        """New rows, centred and weighted like the training data."""
        model = self._model()
        return rows.preprocessed(partial(model.preprocessing, operator=model.operator))

    def _open(self, rows, operator, weight=None):
        """Rows as chunks, with sample weights."""
        if weight is not None:
            weight = checks.weights("sample_weight", weight, [(rows.n_rows,)])
        how = {"batch_size": self.batch_size, "n_jobs": self.n_jobs, "residual": self.residual}
        return as_chunks(rows, operator, weight, **how)

    def adopt(self, found: Fit, row_shape=None, online=None, labels=None) -> GTPCA:
        """Take over what was found, here or elsewhere: it becomes the fitted attributes.

        Parameters
        ----------
        found : Fit
        row_shape : tuple of int or None
            Shape of a row as it came; default: that of a sample.
        online : dict or None
            Where a stream stands.
        labels : Labels or None
            What is known of the samples beside their values.

        Returns
        -------
        self
        """
        model, operator = found.model, found.model.operator
        mean, per_sample = model.preprocessing.mean, model.preprocessing.per_sample
        shape, shown, left = (-1, *operator.weight_shape), model.data_weights, found.data_left
        return self.restore(
            operator,
            components_=(model.weights if shown is None else shown).reshape(shape),
            whitened_components_=None if shown is None else model.weights.reshape(shape),
            noise_=model.preprocessing.noise,
            residual_correlation_=None,
            data_resmse_=None if left is None else left[1:] / max(left[0], TINY),
            explained_energy_=found.explained,
            explained_energy_ratio_=found.explained / found.total,
            n_components_=len(model.weights),
            n_iter_=np.array([result.n_iter for result in found.results], dtype=int),
            **_set_aside(found.aside, operator.sample_shape),
            history_=[np.array(result.history) for result in found.results],
            ridge_=np.array([result.ridge for result in found.results]),
            sample_shape_=operator.sample_shape,
            mean_=None if mean is None else mean.reshape(operator.sample_shape),
            n_features_in_=operator.n_features,
            n_samples_seen_=found.n_rows,
            cautions_=list(found.cautions),
            polarity_=model.polarity,
            shared_pose_=model.shared_pose,
            center_="samples" if per_sample else mean is not None,
            labels_=labels,
            _row_shape=operator.sample_shape if row_shape is None else row_shape,
            **({} if online is None else {"online_": online}),
        )

    def restore(self, operator: Any, **fitted: Any) -> GTPCA:
        """Set fitted attributes, all at once: the one place where that happens.

        Where a stream stands is forgotten unless it is among them.

        Parameters
        ----------
        operator : Operator
            The family, bound to the shape of a sample.
        fitted : attributes by name
        """
        self.__dict__.pop("online_", None)
        self.__dict__.update(fitted, operator_=operator)
        return self

    def _model(self) -> Model:
        shown, white = self.components_.reshape(self.n_components_, -1), self.noise_ is None
        return Model(
            operator=self.operator_,
            weights=shown if white else self.whitened_components_.reshape(shown.shape),
            data_weights=None if white else shown,
            polarity=self.polarity_,
            shared_pose=self.shared_pose_,
            sweeps=self.refine,
            preprocessing=Preprocessing(
                None if self.mean_ is None else self.mean_.ravel(),
                self.center_ == "samples",
                self.noise_,
            ),
        )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows, while what was learnt from earlier ones fades.

        The first batch is fitted with all starts and moves. As long as there are at most 1024 rows
        they are kept, and fitted again each time they have doubled. When there are more, those kept
        are fitted from five seeds, the best of these is taken, and the rows are dropped. From then
        on every batch is seen once: each component is matched, its sums (those of before, times a
        decay, and those of the batch) give new weights, and the next one goes on with the residual.
        After ``fit``, it goes on from the components found. Parameters that are changed count from
        the next fit of the rows kept. With ``center=True`` the mean fades with the horizon, or is
        that of all rows; with ``refine`` only codes are swept.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Some hundred rows at a time, or more.
        y : ignored
        sample_weight : array (n,) or None

        Returns
        -------
        self
        """
        X = counted(X)
        with unchanged_by_errors(self):
            if self.outliers is not None:
                raise ValueError(
                    f"outliers={self.outliers!r} needs all samples at once: use fit, or "
                    "outliers=None with partial_fit."
                )
            if self.horizon is not None:
                checks.integer("horizon", self.horizon, 1)
            if not hasattr(self, "components_"):
                self.fit(X, sample_weight=sample_weight)
                rows, weight = self._batch(X, sample_weight)
                self._follow(self._stream_of(rows, weight), KeptRows.of(rows, weight))
            else:
                check_parameters(self)
                self._go_on(*self._batch(X, sample_weight))
        return self

    def _batch(self, X, sample_weight):
        """Rows of a batch, and their weights if there are any."""
        rows = new_rows(self, X, self.sample_shape_)
        if sample_weight is not None:
            sample_weight = checks.weights("sample_weight", sample_weight, [(rows.n_rows,)])
        return rows, sample_weight

    def _go_on(self, rows, weight):
        """Update by one more batch, or fit again all that was kept."""
        old = self._kept_rows()
        kept = None if old is None else old.joined(rows, weight)
        if kept is not None and kept.doubled:
            stream, kept = self._fit_kept(kept), kept.fitted()
        else:
            dropped = old is not None and kept is None
            past = self._fit_kept(old, N_FITS) if dropped else self._past()
            self._warn_of_blank(rows)
            self._move_mean(past, rows, weight)
            stream = self._advanced(past, rows, weight)
        self._follow(stream, kept)

    def _kept_rows(self):
        kept = getattr(self, "online_", {}).get("kept")
        return None if kept is None else KeptRows(**kept)

    def _move_mean(self, past, rows, weight):
        """Where features are centred: the mean follows the stream."""
        if self.mean_ is None:
            return
        chunks = self._open(rows, self.operator_, weight)
        mean = past.moved_mean(self.mean_.ravel(), chunks, self.horizon)
        self.restore(self.operator_, mean_=mean.reshape(self.sample_shape_))

    def _advanced(self, stream, rows, weight):
        """The stream after the rows of a batch."""
        seen, model, operator = self._preprocessed(rows), self._model(), self.operator_
        problem = Problem(self._open(seen, operator, weight), self.polarity_)
        after = stream.advance(problem, self.horizon)
        if self.noise_ is None:
            return after
        centred = rows.preprocessed(partial(model.preprocessing.centred, operator=operator))
        chunks = self._open(centred, with_feature_weight(operator, None), weight)
        return after.in_data(stream, chunks, model, self.horizon)

    def _fit_kept(self, kept, n_fits=1):
        """Fit the rows kept so far; of several fits from other starts the best is taken."""
        X, weight = kept.rows.reshape(-1, *self._row_shape), kept.faded(self.horizon)
        X = X if self.labels_ is None else Labelled(X, self.labels_)
        least = 1 if self.n_restarts == "auto" else self.n_restarts
        restarts = {"n_restarts": self.n_restarts if n_fits <= least else n_fits}
        found = clone(self).set_params(**restarts).fit(X, sample_weight=weight)
        names = {"components_", "n_components_", "n_iter_", "history_", "ridge_", "mean_"}
        names |= {"cautions_", "noise_", "whitened_components_"}
        names |= {f"{name}_" for name in FROZEN}
        _keep_signs(found, self)
        self.restore(found.operator_, **{name: getattr(found, name) for name in names})
        return self._stream_of(*self._batch(X, weight))

    def _stream_of(self, rows, weight):
        """The stream of these rows alone, to which the model has just been fitted."""
        return self._advanced(Stream.begin(self.model_, ridge=self.ridge_), rows, weight)

    def _past(self):
        """Where the stream stands; after a fit, what is known of its rows."""
        if hasattr(self, "online_"):
            told = {name: self.online_[name] for name in vars(self)["online_"] if name != "kept"}
            return Stream(**told)
        if self.n_samples_seen_ == 0:  # the weights of a network
            return Stream.begin(self.model_)
        total = self.explained_energy_[0] / self.explained_energy_ratio_[0]
        known = (self.explained_energy_, total, self.n_samples_seen_)
        return Stream.begin(self.model_, *known, self.ridge_)

    def _follow(self, stream, kept):
        """Publish where the stream stands."""
        past = zip(stream.weights, self.history_, stream.explained, self.n_iter_, strict=True)
        results = [SolverResult(W, [*before, now], n_iter + 1) for W, before, now, n_iter in past]
        for result, ridge in zip(results, stream.ridges, strict=True):
            result.ridge = float(ridge)
        online = vars(stream) | {"kept": None if kept is None else vars(kept)}
        found = replace(stream.fit(self.model_, results), cautions=tuple(self.cautions_))
        self.adopt(found, self._row_shape, online, self.labels_)

    def _seen(self, rows, weight=None):
        return self._open(self._preprocessed(rows), self.operator_, weight)

    def score(self, X: Any, y: Any = None) -> float:
        """Share of the energy of ``X`` that all components explain: ``1 - resmse(X)[-1]``."""
        return float(1 - self.resmse(X)[-1])

    @overload
    def score_samples(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def score_samples(self, X: DaskT) -> DaskT: ...
    @overload
    def score_samples(self, X: Eager) -> Any: ...
    def score_samples(self, X: Any) -> Any:
        """Share of the energy of each sample that all components explain, (n,); 0 for zero rows."""
        return self.model_.explained_shares(self.chunks(X))


def _set_aside(aside, shape):
    """Fitted attributes that say what was set aside."""
    if aside is None:
        return dict.fromkeys(("row_weight_", "rejected_", "losses_"))
    rejected = None if aside.rejected is None else aside.rejected.reshape(-1, *shape)
    return {"row_weight_": aside.row_weight, "rejected_": rejected, "losses_": aside.losses}


def _keep_signs(found, model):
    """Give the components of a fit to more rows the signs that a model had before it."""
    new, old = found.components_, model.components_
    if new.shape != old.shape or found.polarity_ != "both":
        return
    kept = kept_signs(new.reshape(len(new), -1), old.reshape(len(old), -1), SAME)
    kept = kept.reshape(-1, *(1,) * (new.ndim - 1))
    found.components_ = new * kept
    if found.noise_ is not None:
        found.whitened_components_ = found.whitened_components_ * kept


@contextmanager
def unchanged_by_errors(estimator):
    """Where an error leaves the attributes of the estimator as they were before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def bind_family(family, sample_shape, feature_weight=None):
    """The operator of a family, or of its text, in the inner product of the weight.

    The weight of a grid whose inner products are integrals is the default; False is none at all.
    """
    family = as_family(family)
    check_size(family, sample_shape)
    operator = family.bind(sample_shape)
    weight = getattr(sample_shape, "weight", None) if feature_weight is None else feature_weight
    return operator if weight is None or weight is False else weigh_features(operator, weight)


def _warn_of_windows(operator):
    """Warn where a component is more than twice as long as the sample."""
    sample, window = operator.sample_shape, operator.weight_shape
    pairs = enumerate(zip(sample, window, strict=True)) if len(sample) == len(window) else ()
    for axis, (size, length) in pairs:
        if length > 2 * size:
            checks.warn(wording.long_window(operator, axis), UserWarning)


def warn_of_domain(family, operator):
    """Warn where samples are judged on less than half of their points."""
    if operator.domain_share < LEAST_DOMAIN:
        checks.warn(wording.small_domain(as_family(family), operator), UserWarning)


def check_parameters(estimator):
    """Raise an error for parameters that make no sense; return a solver of our own."""
    checks.parameters(estimator, RULES)
    if estimator.shared_pose and estimator.polarity == "positive" and estimator.n_components != 1:
        raise ValueError(
            "polarity='positive' needs one component per pose; use polarity='both' with "
            "shared_pose=True."
        )
    if estimator.outliers is not None and not is_white(estimator.noise):
        raise ValueError(
            f"outliers={estimator.outliers!r} needs noise='white': a filter would spread bad "
            "values over their neighbours. Use noise='white', or outliers=None."
        )
    if estimator.outliers in ("values", "both") and isinstance(estimator.n_components, float):
        raise ValueError(
            f"outliers={estimator.outliers!r} needs a number of components, not the share "
            f"n_components={estimator.n_components!r}: what components show decides which values "
            "are artefacts."
        )
    as_family(estimator.family)
    if estimator.verbose:
        show_log()
    solver = ALS() if estimator.solver is None else estimator.solver
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise TypeError(f"solver={solver!r} is not a solver; use ALS() or None.")
    if estimator.shared_pose and not getattr(solver, "joint", True):
        raise ValueError(
            f"solver={solver!r} finds one component at a time; with shared_pose=True use ALS()."
        )
    if estimator.ridge not in (0, "auto") and not getattr(solver, "ridged", False):
        raise ValueError(
            f"ridge={estimator.ridge!r} needs solver=ALS(): {solver!r} knows of no ridge; use "
            "ridge='auto' or 0 with it."
        )
    solver.check()
    return clone(solver)


def ridge_of(estimator, operator):
    """Fields of a problem with the ridge of an estimator: none where rows see all of a component,
    or the same part of it, and none for solvers that know of none.
    """
    ridged = estimator.solver is None or getattr(estimator.solver, "ridged", False)
    auto, shared = estimator.ridge == "auto", estimator.shared_pose
    if not ridged or not operator.crops or operator.n_transforms == 1 or (auto and shared):
        return {}
    return {"ridge": AUTO, "cost": COST} if auto else {"ridge": float(estimator.ridge)}


def warn_early(estimator, operator, n_rows):
    """Warn, before any work is done, of what is allowed but hardly meant."""
    family, count = as_family(estimator.family), estimator.n_components
    _warn_of_windows(operator)
    warn_of_domain(family, operator)
    if operator.n_transforms == 1 and family.hint_if_still is not None:
        checks.warn(wording.still_family(family, operator), UserWarning)
    if operator.n_transforms > 1 and count > n_rows:
        checks.warn(wording.many_components(count, n_rows), UserWarning)


def warn_if_transposed(operator, rows):
    """Warn if flat rows in memory look like the points of series, and features like samples."""
    if operator.n_transforms == 1 or len(operator.sample_shape) != 1 or not rows.in_memory:
        return
    found = neighbours(rows.read(0, rows.n_rows))
    if found is not None and found.transposed:
        checks.warn(wording.transposed(found, rows.n_rows, rows.n_features), UserWarning)


def check_n_components(n_components, operator, shared_pose=False):
    """An int of at least 1 or a float in (0, 1)."""
    if isinstance(n_components, (float, np.floating)) and 0 < n_components < 1:
        return float(n_components)
    integer = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not integer or n_components < 1:
        raise ValueError(
            f"n_components={n_components!r} must be an integer of at least 1 or a share of the "
            "energy in (0, 1)."
        )
    most = min(operator.n_weights, operator.n_features)
    if (operator.n_transforms == 1 or shared_pose) and n_components > most:
        raise ValueError(
            f"n_components={n_components} is more than the {most} features; with a single "
            f"transform or a shared pose there are at most {most} components."
        )
    return int(n_components)
