"""GTPCA: validate, bind, find one component after the other, keep the fitted attributes."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data import validation
from gtpca.data.chunks import RESIDUALS, as_chunks
from gtpca.families import Family, Identity
from gtpca.fitting.fit import Progress, Recipe, fit_components, show_log
from gtpca.fitting.incremental import IncrementalGTPCA, restored
from gtpca.model.coding import POLARITIES
from gtpca.solvers.als import ALS

__all__ = ["GTPCA"]


class GTPCA(CallbackSupportMixin, IncrementalGTPCA, BaseEstimator):
    r"""General transform-invariant principal component analysis.

    Component ``k`` may be moved by any transform :math:`T` of a family to fit each sample:

    .. math:: w_k = \arg\max_w \sum_i \max_T \frac{\langle r_i, T w\rangle^2}{|T w|^2},

    where :math:`r_i` is what the components before it left of sample :math:`i`. Each sample gets a
    signed *score* and a *pose* (which transform) on every component.

    Parameters
    ----------
    n_components : int or float in (0, 1)
        Number of components, or the share of the energy to explain.
    family : Family or None
        The transforms, such as ``Shift(window=100)``; None is ``Identity()``: ordinary PCA.
    sample_shape : tuple of int or None
        Shape of one sample if ``X`` holds flat rows; default: ``X.shape[1:]``.
    shared_pose : bool
        False: every component finds its own pose of every sample, as in the paper. True: each
        sample is one object, moved as a whole; all components share its pose.
    polarity : {"both", "positive"}
        "both": the largest absolute product decides, scores have a sign. "positive": the largest
        signed product decides, so that a component never matches upside down; a row that nothing
        fits upright scores 0.
    center : False, True or "samples"
        Subtract nothing, the mean of every feature, or the mean of each row and channel. Energies
        and ``resmse`` are those of the rows after this. The means of "samples" are not restored.
    feature_weight : array of the shape of a sample or None
        Non-negative weights ``q`` of the inner product ``sum_j q_j x_j y_j``.
    refine : int
        Joint sweeps over components and codes after the greedy fit, and code sweeps in ``encode``.
    output : {"scores", "scores+poses"}
        What ``transform`` returns: (n, k) scores, or (n, 2 k) scores and transform indices.
    solver : ALS, gtpca.nn.Adam or None
        Default ``ALS()``.
    batch_size : int or None
        Rows per chunk; default: a few megabytes.
    residual : {"auto", "memory", "scratch", "recompute"}
        Where what is left of the rows is kept during a fit: in memory, in a temporary file, or
        nowhere (it follows from the rows and their codes). "auto": in memory if the rows are.
        For arrays of Dask, "memory" is that of the workers.
    horizon : int or None
        About how many rows ``partial_fit`` remembers: a row that came ``a`` rows ago counts
        ``exp(-a / horizon)``. None: the last sixth of all rows seen, for data that do not drift.
    n_jobs : int or None
        Threads, over starts or over chunks of rows; None is 1. It does not change the result.
    random_state : int, RandomState or None
    verbose : int
        Above 0, each component is reported through ``logging`` (logger "gtpca").

    Attributes
    ----------
    components_ : array (k, \*weight_shape)
        Unit norm, in the order in which they were found, or of their energy if the pose is
        shared or ``refine`` is on.
    explained_energy_, explained_energy_ratio_ : array (k,)
        Energy explained by each component, and its share of the energy of all rows.
    n_components_ : int
    n_iter_ : array (k,), or (1,) if the pose is shared and there is more than one
        Passes over all rows.
    history_ : list of arrays
        Explained energy of each pass, for each entry of ``n_iter_``.
    mean_ : array of the shape of a sample or None
    sample_shape_ : tuple of int
    operator_ : Operator
        The family, bound to ``sample_shape_``.
    n_features_in_ : int
    n_samples_seen_ : int
        Rows of the fit and of all batches since.
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

    def __init__(
        self,
        n_components=2,
        family=None,
        *,
        sample_shape=None,
        shared_pose=False,
        polarity="both",
        center=False,
        feature_weight=None,
        refine=0,
        output="scores",
        solver=None,
        batch_size=None,
        residual="auto",
        horizon=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.family = family
        self.sample_shape = sample_shape
        self.shared_pose = shared_pose
        self.polarity = polarity
        self.center = center
        self.feature_weight = feature_weight
        self.refine = refine
        self.output = output
        self.solver = solver
        self.batch_size = batch_size
        self.residual = residual
        self.horizon = horizon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params):
        """Set parameters; ``solver__n_init`` also works where the solver is the default."""
        if self.solver is None and any(name.startswith("solver__") for name in params):
            params.setdefault("solver", ALS())
        return super().set_params(**params)

    def fit(self, X, y=None, sample_weight=None):
        """Find the components of ``X``.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Also a memory map, a data set of h5py, an array of zarr, or an array of Dask, which are
            read chunk by chunk and never held in memory as a whole.
        y : ignored
        sample_weight : array (n,) or None
            Non-negative; weight 2 is the same as a row given twice.

        Returns
        -------
        self
        """
        with restored(self):
            return self._fit(X, sample_weight)

    @with_callbacks
    def _fit(self, X, sample_weight):
        solver = self._check_parameters()
        rows, shape = validation.training_rows(self, X, self.sample_shape)
        weight = sample_weight
        if weight is not None:
            weight = checks.weights("sample_weight", weight, [(rows.n_rows,)])
        operator = self._bind(shape)
        count = validation.check_n_components(self.n_components, operator, self.shared_pose)
        how = {"batch_size": self.batch_size, "n_jobs": self.n_jobs, "residual": self.residual}
        mean = None
        if self.center is True:
            mean = validation.feature_means(as_chunks(rows, operator, weight, **how))
        rows = rows.entered(partial(validation.enter, **self._entry(operator, mean)))
        progress = Progress(self, None if self.shared_pose or count != int(count) else count)
        rng = check_random_state(self.random_state)
        options = (self.polarity, self.refine, self.n_jobs, rng, progress, self.shared_pose)
        recipe = Recipe(count, solver, *options)
        chunks = as_chunks(rows, operator, weight, **how)
        found = fit_components(chunks, operator, recipe)
        self._keep(found, operator, mean, rows.n_rows)
        progress.end()
        return self

    def _check_parameters(self):
        checks.choice("polarity", self.polarity, POLARITIES)
        checks.choice("output", self.output, ("scores", "scores+poses"))
        checks.choice("center", self.center, (False, True, "samples"))
        checks.choice("shared_pose", self.shared_pose, (False, True))
        checks.choice("residual", self.residual, RESIDUALS)
        checks.whole("refine", self.refine, 0)
        if self.shared_pose and self.polarity == "positive" and self.n_components != 1:
            raise ValueError(
                "polarity='positive' needs one component per pose; use polarity='both' with "
                "shared_pose=True."
            )
        if self.batch_size is not None:
            checks.whole("batch_size", self.batch_size, 1)
        if self.family is not None and not isinstance(self.family, Family):
            raise TypeError(
                f"family={self.family!r} is not a family; use Shift(), Rotation(), .. or None."
            )
        if self.verbose:
            show_log()
        solver = ALS() if self.solver is None else self.solver
        if isinstance(solver, type) or not hasattr(solver, "solve"):
            raise TypeError(f"solver={solver!r} is not a solver; use ALS() or None.")
        if self.shared_pose and not getattr(solver, "joint", True):
            raise ValueError(
                f"solver={solver!r} finds one component at a time; with shared_pose=True use ALS()."
            )
        solver.check()
        return clone(solver)

    def _bind(self, shape):
        operator = (Identity() if self.family is None else self.family).bind(shape)
        if self.feature_weight is None:
            return operator
        flat = (operator.n_features,)
        weight = checks.weights("feature_weight", self.feature_weight, [shape, flat])
        return operator.weighted(weight)

    def _keep(self, found, operator, mean, n_rows=0):
        """Set the fitted attributes."""
        self.__dict__.pop("online_", None)
        self.n_samples_seen_ = n_rows
        self.components_ = found.weights.reshape(-1, *operator.weight_shape)
        self.explained_energy_ = found.explained
        self.explained_energy_ratio_ = found.explained / found.total
        self.n_components_ = len(found.weights)
        self.n_iter_ = np.array([r.n_iter for r in found.results], dtype=int)
        self.history_ = [np.array(r.history) for r in found.results]
        self.sample_shape_ = operator.sample_shape
        self.mean_ = None if mean is None else mean.reshape(self.sample_shape_)
        self.operator_ = operator

    def save(self, path):
        """Write the fitted model to one file, to be read by :func:`gtpca.load`.

        The file holds arrays and text, no code; it is there as a whole or not at all.

        Parameters
        ----------
        path : path
            The usual ending is ``.gtpca``.
        """
        from gtpca.persistence.models import save

        save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
