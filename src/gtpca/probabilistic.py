"""ProbabilisticGTPCA: one pose per sample, with a likelihood; the shell around EM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca.data.chunks import as_chunks
from gtpca.data.rows import new_rows, training_rows
from gtpca.estimator import bind_family
from gtpca.families.text import as_family
from gtpca.fitting.em import Recipe, expectation_maximisation
from gtpca.links import Documented
from gtpca.model.matching import POLARITIES
from gtpca.model.probabilistic import ProbabilisticModel, log_likelihoods, pose_summary

__all__ = ["PosePosterior", "ProbabilisticGTPCA"]


def _contamination(label, value):
    """``value`` as a float in (0, 0.5]."""
    return checks.number(label, value, "in (0, 0.5]", lambda v: 0 < v <= 0.5)


RULES = {
    "noise": checks.one_of("isotropic", "features"),
    "em": checks.one_of("soft", "hard"),
    "prior": checks.one_of("uniform", "learned"),
    "polarity": checks.one_of(*POLARITIES),
    "contamination": _contamination,
    "max_iter": checks.at_least(1),
    "tol": checks.non_negative,
    "batch_size": checks.optional(checks.at_least(1)),
}


@dataclass(frozen=True, eq=False)
class PosePosterior:
    """How sure the poses of ``n`` samples are.

    Attributes
    ----------
    index : int array (n, n_poses)
        The most likely transforms, the most likely first.
    probability : array (n, n_poses)
        Theirs.
    poses : dict of str to array (n, n_poses)
        The same in a person's units.
    std : dict of str to array (n,)
        Standard deviation over *all* transforms of every quantity that is a number, in its units;
        of quantities that go round, such as angles, that of directions.
    entropy : array (n,)
        In nats: 0 if the pose is certain, ``log(m)`` if all transforms are as likely.
    """

    index: np.ndarray
    probability: np.ndarray
    poses: dict
    std: dict
    entropy: np.ndarray


class ProbabilisticGTPCA(Documented, OutlierMixin, TransformerMixin, BaseEstimator):
    r"""Transform-invariant principal components with one pose per sample, as a density.

    .. math:: x = T_t (m + \sum_k z_k \sqrt{\lambda_k} w_k) + \text{noise}, \quad z \sim N(0, I),
        \quad t \sim \text{prior}

    The pattern ``m`` moves along with the components; nothing else is centred. With the identity as
    the family it is probabilistic PCA, with ``n_components=0`` the pattern alone. Poses, scores and
    parameters are found by expectation maximisation, from the poses of a single component that
    explains most energy: with several components in one pose energy says little about the pose, for
    they make up for a window that slides. A more likely start can have worse poses, so that starts
    are not compared.

    Rows are converted to double precision. NaN and sample weights are not supported.

    Parameters
    ----------
    n_components : int
        At least 0.
    family : Family, str or None
        As in :class:`GTPCA`.
    sample_shape : tuple of int or None
        Shape of one sample if ``X`` holds flat rows; default: ``X.shape[1:]``.
    noise : {"isotropic", "features"}
        One variance for all features, or one for each.
    em : {"soft", "hard"}
        Sums over all transforms by their probability, or of the most likely one alone. Hard EM is
        quicker, and makes patterns too large where noise is strong.
    prior : {"uniform", "learned"}
        Of the transforms. A learned one is zero for transforms that no row took.
    polarity : {"positive", "both"}
        How the single component of the start matches rows: upright, or also upside down, for data
        without a pattern that all samples share.
    contamination : float in (0, 0.5]
        Share of the training rows that ``predict`` calls outliers.
    max_iter : int
        Passes of EM over all rows, at most.
    tol : float
        EM ends where a pass gains no more than this, in nats per sample.
    batch_size : int or None
        Rows per chunk; default: a few megabytes.
    n_jobs : int or None
        Threads over chunks of rows. It does not change the result.
    random_state : int, RandomState or None

    Attributes
    ----------
    mean_pattern_ : array of the shape of a component
        ``m``.
    components_ : array (k, \*weight_shape)
        ``w_k``, orthonormal, in descending order of their variance.
    explained_variance_ : array (k,)
        ``lambda_k``.
    noise_variance_ : float or array of the shape of a sample
    pose_prior_ : array (m,)
    offset_ : float
        The log-likelihood below which a sample is an outlier.
    history_ : array (n_iter + 1,)
        Mean over the rows of the log-likelihood at each pass, or for hard EM of that of row and
        pose; it does not fall but by rounding.
    n_iter_ : int
    n_components_ : int
    sample_shape_ : tuple of int
    operator_ : Operator
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import ProbabilisticGTPCA, Shift
    >>> rng = np.random.default_rng(0)
    >>> X = 0.3 * rng.standard_normal((60, 24))
    >>> for i in range(60):
    ...     X[i, i % 20 : i % 20 + 5] += [1.0, 3.0, 5.0, 3.0, 1.0]
    >>> model = ProbabilisticGTPCA(0, Shift(window=5), random_state=0).fit(X)
    >>> model.poses(model.encode(X[:4]))["start"].ravel()
    array([0, 1, 2, 3])
    >>> bool(0.08 < model.noise_variance_ < 0.1)
    True
    """

    missing, sample_dim, labels_ = "error", None, None  # what the checks of rows ask for

    def __init__(
        self,
        n_components=2,
        family=None,
        *,
        sample_shape=None,
        noise="isotropic",
        em="soft",
        prior="uniform",
        polarity="positive",
        contamination=0.1,
        max_iter=1000,
        tol=1e-6,
        batch_size=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.family = family
        self.sample_shape = sample_shape
        self.noise = noise
        self.em = em
        self.prior = prior
        self.polarity = polarity
        self.contamination = contamination
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Find pattern, components, noise and prior of ``X``.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Also a memory map, an h5py dataset, a zarr array, or a Dask array.
        y : ignored

        Returns
        -------
        self
        """
        checks.parameters(self, RULES)
        as_family(self.family)
        rows, _, shape = training_rows(self, X, self.sample_shape)
        operator = bind_family(self.family, shape)
        chunks, rng = self._open(rows, operator), check_random_state(self.random_state)
        model, history, converged = expectation_maximisation(chunks, self._recipe(operator), rng)
        if not converged:
            checks.warn(
                f"max_iter={self.max_iter} passes of EM did not converge to tol={self.tol}: the "
                f"last gained {history[-1] - history[-2]:.2g} per sample. Increase max_iter.",
                ConvergenceWarning,
            )
        scores = np.concatenate(chunks.collect(log_likelihoods, model.lens()))
        self._adopt(model, history, float(np.quantile(scores, self.contamination)))
        return self

    def _recipe(self, operator):
        most = min(operator.n_weights, operator.n_features)
        count = checks.integer("n_components", self.n_components, 0, most)
        names = ("em", "noise", "prior", "polarity", "max_iter", "tol", "n_jobs")
        return Recipe(count, **{name: getattr(self, name) for name in names})

    def _open(self, rows, operator):
        """Rows as chunks, in double precision: a likelihood is a difference of large numbers."""
        rows = rows.preprocessed(partial(np.asarray, dtype=np.float64))
        return as_chunks(rows, operator, batch_size=self.batch_size, n_jobs=self.n_jobs)

    def _adopt(self, model, history, offset):
        """Set all fitted attributes, at once."""
        operator, sizes = model.operator, np.linalg.norm(model.loadings, axis=1)
        unit = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        one = len(model.noise) == 1
        self.__dict__.update(
            mean_pattern_=model.pattern.reshape(operator.weight_shape),
            components_=(unit[:, None] * model.loadings).reshape(-1, *operator.weight_shape),
            explained_variance_=sizes**2,
            noise_variance_=(
                float(model.noise[0]) if one else model.noise.reshape(operator.sample_shape)
            ),
            pose_prior_=np.exp(model.log_prior),
            offset_=offset,
            history_=np.array(history),
            n_iter_=len(history) - 1,
            n_components_=len(sizes),
            sample_shape_=operator.sample_shape,
            operator_=operator,
        )

    @property
    def model_(self) -> ProbabilisticModel:
        """The fitted model as a value, which a later fit of this estimator does not touch."""
        check_is_fitted(self)
        prior, W = self.pose_prior_, self.components_.reshape(-1, self.operator_.n_weights)
        return ProbabilisticModel(
            operator=self.operator_,
            pattern=self.mean_pattern_.ravel(),
            loadings=np.sqrt(self.explained_variance_)[:, None] * W,
            noise=np.ravel(self.noise_variance_),
            log_prior=np.log(prior, out=np.full(len(prior), -np.inf), where=prior > 0),
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")

    def chunks(self, X):
        """New data as chunks; see :mod:`gtpca.data.chunks`."""
        check_is_fitted(self)
        return self._open(new_rows(self, X, self.sample_shape_), self.operator_)

    def score_samples(self, X):
        """Log-likelihood of every sample, ``log p(x_i)``, (n,)."""
        return self.model_.score_samples(self.chunks(X))

    def score(self, X, y=None):
        """Mean log-likelihood of the samples: for new ones, it punishes too many components."""
        return float(np.mean(self.score_samples(X)))

    def decision_function(self, X):
        """``score_samples(X) - offset_``, (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """1 for inliers, -1 for outliers, (n,)."""
        return np.where(np.asarray(self.decision_function(X)) < 0, -1, 1)

    def encode(self, X):
        """Most likely pose of every sample, and the mean of its scores there.

        Scores are coefficients of the components, drawn towards 0 by what noise may have added.

        Returns
        -------
        Codes
            With ``scores`` (n, k) and ``index`` (n, 1).
        """
        return self.model_.encode(self.chunks(X))

    def transform(self, X):
        """The scores of :meth:`encode`, (n, k)."""
        return self.encode(X).scores

    def decode(self, codes):
        """Samples from codes: ``T (m + sum_k scores_k w_k)``, (n, \\*sample_shape)."""
        return self.model_.decode(codes)

    def reconstruct(self, X):
        """``decode(encode(X))``, (n, \\*sample_shape)."""
        return self.decode(self.encode(X))

    def poses(self, codes):
        """The transforms of ``codes`` in a person's units: a dict of str to array (n, 1)."""
        return self.model_.poses(codes)

    def align(self, X):
        """Every sample brought back from its most likely pose, (n, \\*weight_shape).

        As :meth:`GTPCA.align` does: the part of the sample under the window, or turned back.
        """
        return self.model_.align(self.chunks(X))

    def pose_posterior(self, X, n_poses=3):
        """The most likely poses with their probabilities, and how far poses spread.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        n_poses : int
            How many poses of every sample.

        Returns
        -------
        PosePosterior
        """
        chunks, model = self.chunks(X), self.model_
        most = self.operator_.n_transforms
        count = min(checks.integer("n_poses", n_poses, 1), most)
        found = chunks.join(pose_summary, model.lens(), count)
        index, probability, entropy = (found.pop(n) for n in ("index", "probability", "entropy"))
        std = {name.removeprefix("std_"): values for name, values in found.items()}
        return PosePosterior(index, probability, model.described(index), std, entropy)

    def sample(self, n_samples=1, random_state=None):
        """Samples drawn from the model, (n, \\*sample_shape), and their codes.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        X : array (n, \\*sample_shape)
        codes : Codes
        """
        count = checks.integer("n_samples", n_samples, 1)
        X, codes = self.model_.sample(count, check_random_state(random_state))
        return X.reshape(-1, *self.sample_shape_), codes

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`: ``gtpca0, gtpca1, ..``."""
        check_is_fitted(self)
        return np.asarray([f"gtpca{k}" for k in range(self.n_components_)], dtype=object)
