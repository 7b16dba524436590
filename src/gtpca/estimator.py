"""GTPCA: opens rows, calls the core, and sets the fitted value."""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca._typing import (
    ArrayLike,
    CallbackSupportMixin,
    DaskT,
    Eager,
    KindT,
    Others,
    RandomState,
    Samples,
    Shape,
    with_callbacks,
)
from gtpca.base import BaseGTPCA, relative_energies
from gtpca.data.chunks import as_chunks, known_rows
from gtpca.data.codes import Codes
from gtpca.data.labels import Labelled
from gtpca.data.rows import counted, new_rows, training_rows
from gtpca.families.base import Family
from gtpca.families.text import as_family
from gtpca.fitting import bar, wording
from gtpca.fitting.cautions import colour_cautions
from gtpca.fitting.coloured import (
    fit_coloured,
    given_noise,
    is_white,
    n_first_fits,
    residual,
    residual_correlation,
)
from gtpca.fitting.cost import check_cost, guess
from gtpca.fitting.fit import Progress, Recipe, fit
from gtpca.fitting.fitted import FittedComponents, read
from gtpca.fitting.outliers import feature_medians
from gtpca.fitting.streaming import N_FITS, KeptRows, Stream
from gtpca.model import outputs
from gtpca.model.given import given_poses
from gtpca.model.model import Model
from gtpca.model.preprocessing import Preprocessing, feature_means
from gtpca.model.row_coder import FEW_ROWS
from gtpca.operators.base import with_feature_weight
from gtpca.parameters import (
    bind_family,
    check_n_components,
    check_parameters,
    check_templates,
    ridge_of,
    warn_early,
    warn_if_transposed,
)
from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem

__all__ = ["FROZEN", "GTPCA"]

FROZEN = ("polarity", "center", "shared_pose")  # these determine scores, and are kept by a fit


class GTPCA(CallbackSupportMixin, BaseGTPCA):
    r"""General transform-invariant principal component analysis.

    Component ``k`` may be moved by any transform :math:`T` of a family to fit each sample:

    .. math:: w_k = \arg\max_w \sum_i \max_T \frac{\langle r_i, T w\rangle^2}{|T w|^2},

    where :math:`r_i` is the residual of sample :math:`i` after the previous components. Each sample
    gets a signed *score* and a *pose* (the transform) on every component.

    A fit keeps everything that determines scores. The parameters ``refine``, ``missing``,
    ``output``, ``sample_dim``, ``batch_size`` and ``n_jobs`` may be changed afterwards; all others
    take effect with the next fit.

    Parameters
    ----------
    n_components : int or float in (0, 1)
        Number of components, or the share of the energy to be explained.
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
        False: every component finds its own pose in every sample, as in the paper. True: each
        sample is one object, moved as a whole; all components share its pose. With several
        components a pose may be off while they compensate for it: for latencies use
        ``n_components=1`` or :class:`ProbabilisticGTPCA`.
    polarity : {"both", "positive"}
        "both": the largest absolute product decides, and scores have a sign. "positive": the
        largest signed product decides, so that a component never matches upside down; a row that
        nothing fits upright has score 0.
    center : False, True or "samples"
        Subtract nothing, the mean of every feature, or the mean of each row and channel. Energies
        and ``resmse`` refer to the centred rows. The means of "samples" are not restored.
    feature_weight : array of the shape of a sample or None
        Non-negative weights ``q`` of the inner product ``sum_j q_j x_j y_j``; for functions on an
        uneven grid see :func:`gtpca.quadrature`.
    templates : array (t, \*component_shape) or None
        Components that are known, such as the waveform of an earlier study: the first ``t``, at
        most ``n_components``; the others are learned from the residual. ``fit`` only scales them to
        unit norm, so that nothing is learned if all are given: encode, align and read poses as
        after any other fit. In one pose all of them must be given. If poses are known instead, see
        :meth:`fit`.
    missing : {"error", "ignore"}
        How to treat NaN, masked values, None and pandas' NA: as an error, or as *not observed*. In
        the latter case matches, means and energies are those of the observed values; in gaps a
        component is pulled towards zero with a weight of .02, since otherwise poses would win in
        which hardly anything of it is seen. May be changed after a fit.
    noise : {"white", "stationary"}, array (n, \*sample_shape), Covariance or StationaryNoise
        "white": as in the paper. "stationary", for families that shift along axes: rows are
        whitened by a filter that is estimated from them, and again from the residual of a first
        fit; components are found in the whitened rows. ``components_``, scores and decoded samples
        are in the units of the data, energies and ``resmse`` are those of whitened rows. An array
        contains samples of noise alone from which the filter is estimated, such as baseline
        periods, of any length along the axes that shift. An MNE noise covariance decorrelates
        channels, assuming noise that is white in time. ``noise_`` of another model is used as it
        is. Rows are centred first; a feature weight applies to the whitened rows.
    outliers : {None, "rows", "values", "both"}
        What is set aside as an artefact: rows get smaller weights the more their residual exceeds
        that of most others; values that are far from the reconstruction are hidden, like gaps; or
        both. ``row_weight_`` and ``rejected_`` report which. Energies are those of what is kept,
        and ``center=True`` uses medians; components are ordered by the energy of their
        reconstructions. Codes of rows are computed from all their values, including artefacts. For
        rows in memory, in white noise, without ``partial_fit``; "values" and "both" need a number
        of components.
    ridge : "auto" or float
        For windows of which rows see only a part, as with crops: components minimise ``sum_i |r_i -
        a_i T_i w|^2 + ridge a_i^2 |w|^2``. Without a ridge, parts of a window that no row sees
        together have no common scale, and one component can hold two patterns. 0: none, as in the
        paper. "auto": 0.05, up to the first component whose residual it would raise by 0.4 %; none
        with a shared pose, or with solvers other than ``ALS``. Codes are computed without it; it
        has no effect if nothing is cropped.
    refine : int
        Number of joint sweeps over components and codes after the greedy fit, and of code sweeps in
        ``encode``. May be changed after a fit, for ``encode`` and everything that follows from it.
    output : {"scores", "scores+poses", "scores+units", "aligned"}
        What ``transform`` returns: (n, k) scores; (n, 2 k) scores and transform indices, which
        ``inverse_transform`` accepts; scores and poses in physical units, such as the ``start`` of
        a window, with a column per component and quantity; or, for another step of a pipeline such
        as PCA, samples moved to the pose of the first component, as flat rows, see :meth:`align`.
        May be changed after a fit.
    solver : ALS, gtpca.nn.Adam or None
        Default ``ALS()``.
    n_restarts : "auto" or int
        Number of fits, each from different starts; the fit that explains most is kept. "auto": one
        fit, but with ``ALS`` more starts if there are many optima or starts are cheap. A block with
        a shared pose grows from two starts, and both are finished instead of the better one; with
        up to 1024 rows from three, of which two are finished. If a few loud rows hold a tenth of
        the energy in excess, a block grows from six starts, of which three are finished, and every
        component with separate poses is searched for four times.
    batch_size : int or None
        Rows per chunk; default: a few megabytes. May be changed after a fit.
    residual : {"auto", "memory", "scratch", "recompute"}
        Where the residual of the rows is kept during a fit: in memory, in a temporary file, or
        nowhere (it follows from the rows and their codes). "auto": in memory if the rows are in
        memory. For Dask arrays, "memory" is that of the workers.
    horizon : int or None
        Approximate number of rows that ``partial_fit`` remembers: a row that came ``a`` rows ago
        has weight ``exp(-a / horizon)``. None: the last sixth of all rows seen, for data that do
        not drift.
    n_jobs : int or None
        Threads over chunks of rows; None is 1. It does not change the result, and
        may be changed after a fit.
    random_state : int, RandomState or None
    verbose : int
        Above 0, each component is reported through ``logging`` (logger "gtpca").
    progress : {"auto", True, False}
        "auto": a progress bar in notebooks, and on terminals if rich is installed, with the number
        of components, if a fit takes more than some seconds. May be changed after a fit.

    Attributes
    ----------
    fit_ : FittedComponents
        The result of the fit as one immutable value; the other attributes are read from it.
    components_ : array (k, \*weight_shape)
        Of unit norm, in the order in which they were found, or of their energy if the pose is
        shared or ``refine`` is used; that of the columns of ``poses``, if some are given to
        ``fit``.
    explained_energy_, explained_energy_ratio_ : array (k,)
        Energy explained by each component, and its share of the energy of all rows. With ``refine``
        it is that of the final codes of the sweeps of the fit. ``score`` and ``resmse`` compute
        codes of rows anew, even for the training rows, and may find others: they usually give
        slightly less, and are what new rows should be compared with.
    n_components_ : int
    n_iter_ : array (k,), or (1,) if the pose is shared and there is more than one
        Passes over all rows.
    history_ : list of arrays
        Explained energy of each pass, minus the penalty of a ridge, for each entry of ``n_iter_``.
    ridge_ : array like ``n_iter_``
        The ridge with which each was found; zero if there was none.
    mean_ : array of the shape of a sample or None
    noise_ : StationaryNoise or None
        The filter that whitens rows; its ``spectrum()`` is that of the noise. None for
        ``noise="white"``.
    whitened_components_ : array (k, \*weight_shape) or None
        The whitened version of each component; its norm says how far a component of unit size
        stands out from the noise.
    row_weight_ : array (n,) or None
        With ``outliers="rows"`` or "both", the final weight of each row of the fit, from 0 to 1:
        about .8 for an ordinary row, less than .1 for one that is set aside.
    rejected_ : bool array (n, \*sample_shape) or None
        With ``outliers="values"`` or "both", which values were hidden in the end.
    losses_ : list of arrays or None
        With ``outliers``, the loss after every round of weights, mask and climb, for each entry of
        ``n_iter_``: it never increases except by rounding. See ``gtpca.fitting.outliers``.
    data_resmse_ : array (k,), or (1,) if the pose is shared, or None
        Residual energy relative to the energy of the training rows in the units of the data, after
        1, .., k components, or after all.
    residual_correlation_ : float or None
        Lag-one correlation of the residual of training rows in memory, if noise is assumed to be
        white and the family shifts along axes.
    polarity_, center_, shared_pose_
        The values of these parameters in the fit.
    sample_shape_ : tuple of int
    labels_ : Labels or None
        Names, units and positions of the axes, if the samples have them.
    operator_ : Operator
        The family, bound to ``sample_shape_``.
    n_features_in_ : int
    n_samples_seen_ : int
        Number of rows of the fit and of all batches since.
    cautions_ : list of str
        Warnings of the fit: an offset that holds most of the energy, poses that accumulate.
    online_ : dict
        After ``partial_fit``: decayed sums and the first rows.

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

    fit_: FittedComponents
    explained_energy_: np.ndarray = read()
    explained_energy_ratio_: np.ndarray = read()
    n_iter_: np.ndarray = read()
    history_: list[np.ndarray] = read()
    ridge_: np.ndarray = read()
    polarity_: str = read()
    n_samples_seen_: int = read()
    whitened_components_: np.ndarray | None = read()
    data_resmse_: np.ndarray | None = read()
    residual_correlation_: float | None = read()
    row_weight_: np.ndarray | None = read()
    rejected_: np.ndarray | None = read()
    losses_: list[np.ndarray] | None = read()
    online_: dict[str, Any] = read(optional=True)

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
        templates: ArrayLike | None = None,
        missing: Literal["error", "ignore"] = "error",
        noise: Any = "white",
        outliers: Literal["rows", "values", "both"] | None = None,
        ridge: float | Literal["auto"] = "auto",
        refine: int = 0,
        output: Literal["scores", "scores+poses", "scores+units", "aligned"] = "scores",
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
        self.templates = templates
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
        """Set parameters, also ``solver__n_init`` of the default, ``family__window`` of a text."""
        if self.solver is None and any(name.startswith("solver__") for name in params):
            params.setdefault("solver", ALS())
        return super().set_params(**params)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        poses: Any = None,
    ) -> Self:
        """Find the components of ``X``.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Also a memory map, an h5py dataset, a zarr array, or a Dask array, which are read chunk
            by chunk and never held in memory as a whole. An xarray DataArray and other containers
            provide the names and units of their axes. With ``missing="ignore"`` also a list of
            samples of unequal size, which :func:`gtpca.pad` combines in one array.
        y : ignored
        sample_weight : array (n,) or None
            Non-negative; weight 2 is equivalent to repeating a row.
        poses : array (n, g), array (n, g, p), dict of str to array (n, g), or None
            Poses that are known, of the first ``g`` components, such as those of a response whose
            time was measured; NaN where a pose is free. If components share the pose, ``g`` is 1.
            An array (n, g) holds the first quantity of :meth:`poses`, such as ``start``; a dict
            holds quantities by their names, as :meth:`poses` returns them, in its units; an array
            (n, g, p) is one of ``codes.pose``. Of a list of transforms, the nearest is taken;
            values beyond its ends are an error. Components with known poses keep the order of
            their columns, and are not moved afterwards; all components are solved together, so
            that those that overlap come apart. Not with ``outliers`` or a share of the energy.
            Codes of new samples take such poses in :meth:`encode`; :meth:`partial_fit` and
            diagnostics that fit again look for all poses.

        Returns
        -------
        self
        """
        with bar.shown(self) if bar.LOOKED_AT else nullcontext():
            return self._fit(X, sample_weight, poses)

    @with_callbacks
    def _fit(self, X, sample_weight, poses):
        solver = check_parameters(self)
        rows, row_shape, shape = training_rows(self, X, self.sample_shape)
        labels = None if rows.container is None else rows.container.labels
        operator = self.bind(shape)
        count = check_n_components(self.n_components, operator, self.shared_pose)
        given = self._given_poses(poses, operator, rows.n_rows, count)
        warn_early(self, operator, rows.n_rows)
        warn_if_transposed(operator, rows)
        open_rows = partial(self._open, operator=operator, weight=sample_weight, given=given)
        means = self._means_of(rows)
        mean = means(open_rows(rows)) if self.center is True else None
        preprocessing = Preprocessing(mean, self.center == "samples")
        noise = given_noise(self.noise, operator, preprocessing)
        context = self._init_callback_context(max_subtasks=self._n_searches(count, noise))
        context.call_on_fit_task_begin(estimator=self)
        recipe = self._recipe(solver, count, Progress(self, context))
        templates = check_templates(self, operator, count)
        recipe = replace(recipe, templates=templates, posed=posed_columns(given))

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
            plain = with_feature_weight(operator, None)
            chunks = self._open(centred, plain, sample_weight, given)
            found = fit_coloured(problem_of, chunks, preprocessing, noise, recipe)
        fitted = FittedComponents.of(
            found, labels=labels, row_shape=row_shape, feature_names_in=rows.feature_names
        )
        if rows.in_memory and is_white(self.noise):
            fitted = with_colour(fitted, self._open(rows, operator, given=given), self.refine)
        for caution in fitted.cautions:
            checks.warn(caution, UserWarning)
        self.fit_ = fitted
        context.call_on_fit_task_end(estimator=self)
        return self

    def _recipe(self, solver, count, progress):
        """How to fit ``count`` components."""
        return Recipe(
            n_components=count,
            solver=solver,
            refine=self.refine,
            n_jobs=self.n_jobs,
            rng=check_random_state(self.random_state),
            progress=progress,
            shared_pose=self.shared_pose,
            n_restarts=self.n_restarts,
            outliers=self.outliers,
        )

    def _n_searches(self, count, noise):
        """How many components are looked for; None where nobody knows before the fit."""
        unknown = self.shared_pose or count != int(count) or self.outliers is not None
        if unknown or not (is_white(self.noise) or noise is not None):
            return None
        return count * (1 if self.n_restarts == "auto" else self.n_restarts)

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

    def bind(self, sample_shape):
        """The operator of the family on samples of a shape, with the feature weight."""
        return bind_family(self.family, sample_shape, self.feature_weight)

    def _open(self, rows, operator, weight=None, given=None):
        """Rows as chunks, with sample weights and given poses."""
        if weight is not None:
            weight = checks.weights("sample_weight", weight, [(rows.n_rows,)])
        return as_chunks(
            rows,
            operator,
            weight,
            batch_size=self.batch_size,
            n_jobs=self.n_jobs,
            residual=self.residual,
            given=given,
        )

    def _given_poses(self, poses, operator, n_rows, count):
        """Poses that are given to a fit; an error where they cannot be used."""
        if poses is None:
            return None
        if self.outliers is not None:
            raise ValueError(
                f"poses cannot be combined with outliers={self.outliers!r}; use outliers=None."
            )
        if not is_white(self.noise) and operator.feature_weight is not None:
            raise ValueError(
                "poses in noise that is not white cannot be combined with a feature_weight; use "
                "feature_weight=False, or noise='white'."
            )
        if isinstance(count, float):
            raise ValueError(
                f"poses need a number of components, not the share n_components={count!r}."
            )
        return given_poses(poses, operator, n_rows, 1 if self.shared_pose else count)

    @property
    def model_(self) -> Model:
        """The fitted model as a value, which a later fit of this estimator does not change."""
        check_is_fitted(self)
        return replace(self.fit_.model, sweeps=self.refine)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows, while the influence of earlier ones decays.

        The first batch is fitted with all starts and moves. As long as there are at most 1024 rows
        they are kept, and fitted again each time their number has doubled. Once there are more, the
        rows kept so far are fitted from five seeds, the best fit is taken, and the rows are
        dropped. From then on every batch is seen once: each component is matched, its sums (the
        earlier ones, times a decay, plus those of the batch) give new weights, and the next
        component continues with the residual. After ``fit``, it continues from the components
        found. Changed parameters take effect with the next fit of the kept rows. With
        ``center=True`` the mean decays with the horizon, or is that of all rows; with ``refine``
        only codes are swept.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            A few hundred rows at a time, or more.
        y : ignored
        sample_weight : array (n,) or None

        Returns
        -------
        self
        """
        X = counted(X)
        if self.outliers is not None:
            raise ValueError(
                f"outliers={self.outliers!r} needs all samples at once: use fit, or outliers=None "
                "with partial_fit."
            )
        if self.templates is not None:
            raise ValueError("partial_fit learns all components: use fit with templates.")
        if self.horizon is not None:
            checks.integer("horizon", self.horizon, 1)
        if self.__sklearn_is_fitted__():
            check_parameters(self)
            self.fit_ = self._after(self.fit_, *self._batch(X, sample_weight))
        else:
            first = copy(self).fit(X, sample_weight=sample_weight)
            rows, weight = first._batch(X, sample_weight)
            stream = first._stream_of(first.fit_, rows, weight)
            self.fit_ = first.fit_.followed(stream, KeptRows.of(rows, weight))
        return self

    def _batch(self, X, sample_weight):
        """Rows of a batch, and their weights if there are any."""
        rows = new_rows(self, X, self.sample_shape_)
        if sample_weight is not None:
            sample_weight = checks.weights("sample_weight", sample_weight, [(rows.n_rows,)])
        return rows, sample_weight

    def _after(self, fit, rows, weight):
        """The fit after one more batch, or that of all rows that were kept."""
        old = fit.kept_rows
        kept = None if old is None else old.joined(rows, weight)
        if kept is not None and kept.doubled:
            fit, stream = self._fit_kept(fit, kept)
            return fit.followed(stream, kept.fitted())
        if old is not None and kept is None:
            fit, past = self._fit_kept(fit, old, N_FITS)
        else:
            past = fit.stream
        self._warn_of_blank(rows)
        if fit.mean is not None:
            chunks = self._open(rows, fit.operator, weight)
            mean = past.moved_mean(fit.mean.ravel(), chunks, self.horizon)
            fit = replace(fit, mean=mean.reshape(fit.sample_shape))
        return fit.followed(self._advanced(fit, past, rows, weight), kept)

    def _advanced(self, fit, stream, rows, weight):
        """The stream after the rows of a batch, which are preprocessed as in a fit."""
        model, operator = fit.model, fit.operator
        seen = self._open(preprocessed(rows, model), operator, weight)
        after = stream.advance(Problem(seen, fit.polarity), self.horizon)
        if fit.noise is None:
            return after
        centred = rows.preprocessed(partial(model.preprocessing.centred, operator=operator))
        chunks = self._open(centred, with_feature_weight(operator, None), weight)
        return after.in_data(stream, chunks, model, self.horizon)

    def _stream_of(self, fit, rows, weight):
        """The stream of these rows alone, to which the model has just been fitted."""
        return self._advanced(fit, Stream.begin(fit.model, ridge=fit.ridge), rows, weight)

    def _fit_kept(self, fit, kept, n_fits=1):
        """The fit of the kept rows, the best of several from different starts, and its stream."""
        X, weight = kept.rows.reshape(-1, *fit.row_shape), kept.faded(self.horizon)
        X = X if fit.labels is None else Labelled(X, fit.labels)
        least = 1 if self.n_restarts == "auto" else self.n_restarts
        restarts = {"n_restarts": self.n_restarts if n_fits <= least else n_fits}
        found = clone(self).set_params(**restarts).fit(X, sample_weight=weight).fit_
        found = replace(found, labels=fit.labels, feature_names_in=fit.feature_names_in)
        found = found.with_signs_of(fit)
        return found, self._stream_of(found, *self._batch(X, weight))

    def _encoded(self, rows):
        if not rows.in_memory or rows.n_rows > FEW_ROWS:
            return super()._encoded(rows)
        return self.fit_.coder(self.model_, rows.dtype)(rows.read(0, rows.n_rows))

    def _seen(self, rows, weight=None, given=None):
        return self._open(preprocessed(rows, self.fit_.model), self.operator_, weight, given)

    def _posed(self, rows, poses):
        """Given poses of new rows, as chunks hold them; None if none are given."""
        if poses is None:
            return None
        return given_poses(poses, self.operator_, rows.n_rows, self.model_.n_poses)

    @overload
    def encode(self, X: np.ndarray, poses: Any = None) -> Codes[np.ndarray]: ...
    @overload
    def encode(self, X: DaskT, poses: Any = None) -> Codes[DaskT]: ...
    @overload
    def encode(self, X: Eager, poses: Any = None) -> Codes[Any]: ...
    def encode(self, X: Samples, poses: Any = None) -> Codes[Any]:
        """Scores and transforms of new samples.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        poses : array, dict or None
            Poses that are known, as in :meth:`fit`. The scores of all components are then those of
            least squares in their poses; free poses and scores are found by turns.

        Returns
        -------
        Codes
            With ``scores`` (n, k) and ``index`` (n, k), or (n, 1) if the pose is shared.
        """
        if poses is None:
            return super().encode(X)
        rows = self._new_rows(X)
        found = self.model_.encode(self._seen(rows, given=self._posed(rows, poses)))
        return self._known(found, rows)

    @overload
    def transform(self, X: np.ndarray, poses: Any = None) -> np.ndarray: ...
    @overload
    def transform(self, X: KindT, poses: Any = None) -> KindT: ...
    @overload
    def transform(self, X: Others, poses: Any = None) -> Any: ...
    def transform(self, X: Samples, poses: Any = None) -> Any:
        """Signed scores (n, k), followed by what ``output`` requests, or aligned samples.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        poses : array, dict or None
            Poses that are known, as in :meth:`fit`.

        Returns
        -------
        array (n, k), or more columns; see :meth:`get_feature_names_out`
        """
        if self.output == outputs.ALIGNED:
            rows = self._new_rows(X)
            return self._aligned_rows(rows, given=self._posed(rows, poses))
        return self._put_out(self.encode(X, poses))

    def fit_transform(  # type: ignore[override]  # names of what is passed on
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        poses: Any = None,
    ) -> Any:
        """Fit to ``X`` and return ``transform(X, poses)``; see :meth:`fit`."""
        return self.fit(X, y, sample_weight, poses).transform(X, poses)

    @overload
    def reconstruct(self, X: np.ndarray, poses: Any = None) -> np.ndarray: ...
    @overload
    def reconstruct(self, X: KindT, poses: Any = None) -> KindT: ...
    @overload
    def reconstruct(self, X: Others, poses: Any = None) -> Any: ...
    def reconstruct(self, X: Samples, poses: Any = None) -> Any:
        """``decode(encode(X, poses))``, shape (n, \\*sample_shape)."""
        return self.decode(self.encode(X, poses))

    def resmse(self, X: Any, *, in_data: bool = False, poses: Any = None) -> np.ndarray:
        """Residual energy relative to the energy, after 1, 2, .., k components, shape (k,).

        ``sum_i |x_i - proj_k(x_i)|^2 / sum_i |x_i|^2``, both over observed values.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        in_data : bool
            If rows are whitened, energies are by default those of whitened rows. True: those of the
            rows in the units of the data, which are dominated by noise of large amplitude and long
            waves.
        poses : array, dict or None
            Poses that are known, as in :meth:`fit`; not with ``in_data``.
        """
        if poses is None:
            return super().resmse(X, in_data=in_data)
        if in_data:
            raise ValueError("poses cannot be combined with in_data=True; use in_data=False.")
        rows = self._new_rows(X)
        chunks = self._seen(rows, given=self._posed(rows, poses))
        return relative_energies(self.model_.energies(chunks))

    def score(self, X: Any, y: Any = None, poses: Any = None) -> float:
        """The share of the energy of ``X`` that all components explain.

        ``1 - resmse(X, poses=poses)[-1]``.
        """
        return float(1 - self.resmse(X, poses=poses)[-1])

    @overload
    def score_samples(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def score_samples(self, X: DaskT) -> DaskT: ...
    @overload
    def score_samples(self, X: Eager) -> Any: ...
    def score_samples(self, X: Any) -> Any:
        """The share of the energy of each sample that is explained, (n,); 0 for zero rows."""
        return self.model_.explained_shares(self.chunks(X))


def preprocessed(rows, model):
    """Rows, centred, whitened and weighted like those of a model."""
    return rows.preprocessed(partial(model.preprocessing, operator=model.operator))


def with_colour(fit, chunks, sweeps):
    """A fit with the correlation of the residual of the original rows, and a caution about it."""
    model = replace(fit.model, sweeps=sweeps)

    def rest(chunk):
        rows = model.preprocessing.centred(chunk.rows, chunk.operator)
        return residual(replace(chunk, rows=rows), model)

    correlation = residual_correlation(chunks, rest)
    left = 1 - float(np.sum(fit.explained_energy_ratio))
    said = colour_cautions(correlation, left, chunks.n_rows * fit.n_features_in)
    found = wording.in_order([*fit.cautions, *said])
    return replace(fit, residual_correlation=correlation, cautions=found)


def posed_columns(given):
    """The components of which some poses are given."""
    if given is None:
        return ()
    return tuple(k for k in range(given.shape[1]) if known_rows(given[:, k]).any())
