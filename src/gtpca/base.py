"""The common base of all estimators: samples of any type in, results of the same type out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca._typing import (
    ArrayLike,
    ArrayT,
    BaseEstimator,
    DaskT,
    Documented,
    Eager,
    KindT,
    Others,
    Samples,
    Shape,
    TransformerMixin,
)
from gtpca.data.codes import Codes
from gtpca.data.containers import components_in, samples_in
from gtpca.data.labels import Labels
from gtpca.data.missing import warn_of_blank
from gtpca.data.rows import by_rows, new_rows
from gtpca.data.series import cut
from gtpca.families.text import as_family
from gtpca.fitting.fitted import FittedComponents, FittedDensity, FittedRows, read
from gtpca.model import outputs
from gtpca.model.encoder import Encoder
from gtpca.model.model import CodedModel
from gtpca.model.stationary import StationaryNoise
from gtpca.operators import Operator

__all__ = ["BaseFitted", "BaseGTPCA", "BaseModel", "relative_energies"]


class BaseFitted(Documented, BaseEstimator):
    """An estimator whose fitted attributes are read from one value, ``fit_``.

    Subclasses define the parameter ``family``; ``fit`` sets ``fit_`` at the very end and changes
    nothing before, so that an error leaves the estimator as it was.
    """

    has_likelihood: ClassVar[bool] = False  # then a pattern and all components share one pose
    of_recordings: ClassVar[bool] = False  # then X is one recording, or several, instead of samples
    has_kinds: ClassVar[bool] = False  # then there are several patterns, each with its components
    family: Any
    fit_: Any  # a Fitted
    components_: np.ndarray = read()
    n_components_: int = read()
    sample_shape_: Shape = read()
    n_features_in_: int = read()
    labels_: Labels | None = read()
    cautions_: list[str] = read()
    noise_: StationaryNoise | None = read()
    operator_: Operator = read()

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``family__window`` of a family that is given as text."""
        if isinstance(self.family, str) and any(name.startswith("family__") for name in params):
            params.setdefault("family", as_family(self.family))
        return super().set_params(**params)

    @property
    def model_(self) -> Any:
        """The fitted model as a value, which a later fit of this estimator does not change."""
        check_is_fitted(self)
        return self.fit_.model

    @property
    def grid_(self) -> tuple[int, ...]:
        """``sample_shape_``, with names, units and positions of its axes if they are known."""
        return self.sample_shape_ if self.labels_ is None else self.labels_.grid(self.sample_shape_)

    def __sklearn_is_fitted__(self):
        return "fit_" in vars(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`gtpca.load` reads.

        The file holds arrays and text, no code; it is written atomically.

        Parameters
        ----------
        path : path
            The usual extension is ``.gtpca``.
        """
        from gtpca.persistence.models import save

        save(self, path)


class BaseModel(BaseFitted):
    """A fitted model that returns results in the type of container that was passed.

    Subclasses also define the parameters ``missing`` and ``sample_dim``, and how rows become
    chunks.
    """

    missing: Any
    sample_shape: Shape | None
    fit_: FittedRows
    feature_names_in_: np.ndarray = read(optional=True)
    shared_pose_: bool = read()
    center_: bool | str = read()
    mean_: np.ndarray | None = read()

    @abstractmethod
    def _open(self, rows, operator, weight=None):
        """Rows as chunks, with sample weights."""

    @abstractmethod
    def _seen(self, rows, weight=None):
        """New rows as chunks, as the components see them."""

    def chunks(self, X: Samples, sample_weight: ArrayLike | None = None) -> Any:
        """New data as the components see them: centred and weighted like the training data.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        sample_weight : array (n,) or None

        Returns
        -------
        Chunks
            See :mod:`gtpca.data.chunks`.
        """
        return self._seen(self._new_rows(X), sample_weight)

    def _new_rows(self, X):
        """Rows of new data, after a warning about those without observed values."""
        check_is_fitted(self)
        rows = new_rows(self, X, self.sample_shape_)
        self._warn_of_blank(rows)
        return rows

    def _warn_of_blank(self, rows):
        """Warn of rows without observed values if they are in memory; files are not read for it."""
        if self.missing == "ignore" and rows.in_memory:
            warn_of_blank(rows.n_blank, rows.n_rows)

    @overload
    def encode(self, X: np.ndarray) -> Codes[np.ndarray]: ...
    @overload
    def encode(self, X: DaskT) -> Codes[DaskT]: ...
    @overload
    def encode(self, X: Eager) -> Codes[Any]: ...
    def encode(self, X: Samples) -> Codes[Any]:
        """Scores and transforms of new samples.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)

        Returns
        -------
        Codes
            With ``scores`` (n, k) and ``index`` (n, k), or (n, 1) if the pose is shared.
        """
        rows = self._new_rows(X)
        return self._known(self._encoded(rows), rows)

    def _encoded(self, rows):
        """Codes of checked rows."""
        return self.model_.encode(self._seen(rows))

    def encoder(self) -> Encoder:
        """The fitted model, prepared for one sample after the other, or a few at a time.

        It is a snapshot: a later fit does not change it. ``scores, poses = encoder(x)`` returns
        what ``encode`` and ``poses`` do, in a fraction of their time, as nothing but the shape and
        gaps of samples is checked.
        """
        check_is_fitted(self)
        return Encoder(self.model_, self.grid_, self.missing)

    def _known(self, codes, rows):
        """Codes with their transforms, and the container or the sizes of the samples."""
        return replace(codes, operator=self.operator_, container=rows.container, shapes=rows.shapes)

    def measure(self, X: Any) -> tuple[Codes[Any], np.ndarray]:
        """Codes of new samples and the energy of the residual, in one pass.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)

        Returns
        -------
        codes : Codes
        energies : array (n, k + 1), or (n, k + 2) with a pattern
            ``|r_i|^2`` after 0, 1, .., k components; for a density, without
            anything, with the pattern alone, and with 1, .., k components; see
            :meth:`gtpca.GTPCA.resmse`.
        """
        rows = self._new_rows(X)
        codes, energies = self.model_.measure(self._seen(rows))
        return self._known(codes, rows), energies

    def decode(self, codes: Codes[ArrayT]) -> ArrayT:
        """Samples from codes: ``sum_k a_k T_k w_k`` (+ the mean), (n, \\*sample_shape).

        They are returned in the container that was encoded: a DataArray, or a list of samples of
        unequal size.
        """
        Codes.check(codes)
        samples = cut(self.model_.decode(codes), codes.shapes)
        return samples_in(codes.container, samples, self.grid_)

    @overload
    def reconstruct(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def reconstruct(self, X: KindT) -> KindT: ...
    @overload
    def reconstruct(self, X: Others) -> Any: ...
    def reconstruct(self, X: Samples) -> Any:
        """``decode(encode(X))``, shape (n, \\*sample_shape)."""
        return self.decode(self.encode(X))

    def poses(self, codes: Codes[Any]) -> Any:
        """The transforms of ``codes`` in physical units.

        Returns
        -------
        dict of str to array (n, k)
            One entry per quantity, e.g. ``start`` and ``centre`` of the window, ``degrees``,
            ``flipped``, ``factor``; see the family for signs, zeros and units. Positions are in the
            units of the axes if these are known, such as seconds, as stated in ``units`` of the
            dict, and in points otherwise. A Dataset, if a DataArray was encoded.
        """
        Codes.check(codes)
        poses = self.model_.poses(codes)
        return poses if codes.container is None else codes.container.poses(poses)

    @overload
    def impute(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def impute(self, X: KindT) -> KindT: ...
    @overload
    def impute(self, X: Others) -> Any: ...
    def impute(self, X: Samples) -> Any:
        """``X`` with predictions for what was not observed, (n, \\*sample_shape).

        Observed values are kept; gaps are filled with the reconstruction, including the mean that
        was subtracted. Gaps outside the domain of the family stay gaps. Needs ``missing="ignore"``
        unless nothing is missing.
        """
        rows = self._new_rows(X)
        filled = self.model_.impute(self._open(rows, self.operator_))
        return samples_in(rows.container, cut(filled, rows.shapes), self.grid_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags


class BaseGTPCA(TransformerMixin, BaseModel):
    """A model with one set of components and scikit-learn's interface: scores, energies, plots.

    Subclasses also define the parameter ``output``.
    """

    _precisions: tuple[str, ...] = ("float64", "float32")  # that are kept
    output: Any
    fit_: FittedComponents | FittedDensity

    @property
    def model_(self) -> CodedModel:
        """The fitted model as a value, which a later fit of this estimator does not change."""
        check_is_fitted(self)
        return self.fit_.model

    def pose_errors(self, X: Any) -> Any:
        """Standard errors of the poses of new samples, in the units of :meth:`poses`.

        From the curvature of the objective at the pose, with scores projected out, and from the
        steps ``h`` of a grid of poses, to which they are rounded: ``h^2 / 12`` of the variance. The
        noise is that of the residual of each sample, or that of the density. They hold where the
        noise is low enough for the pose to lie in the right maximum, see
        :func:`gtpca.diagnostics.pose_confidence`.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)

        Returns
        -------
        dict of str to array (n, k)
            The same quantities as :meth:`poses`, (n, 1) if the pose is shared. NaN for those
            without an order, such as ``flipped``, and where nothing determines the pose. A Dataset,
            if X is a DataArray.
        """
        rows = self._new_rows(X)
        found = self.model_.pose_errors(self._seen(rows))
        return found if rows.container is None else rows.container.poses(found)

    def resmse(self, X: Any, *, in_data: bool = False) -> np.ndarray:
        """Residual energy relative to the energy, after 1, 2, .., k components, shape (k,).

        ``sum_i |x_i - proj_k(x_i)|^2 / sum_i |x_i|^2``, both over observed values. For a
        :class:`ProbabilisticGTPCA`, that of the pattern alone comes first, (k + 1,).

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        in_data : bool
            If rows are whitened, energies are by default those of whitened rows. True: those of the
            rows in the units of the data, which are dominated by noise of large amplitude and long
            waves.
        """
        if in_data:
            rows = self._new_rows(X)
            energies = self.model_.data_energies(self._open(rows, self.operator_))
        else:
            energies = self.model_.energies(self.chunks(X))
        return relative_energies(energies)

    @overload
    def transform(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def transform(self, X: KindT) -> KindT: ...
    @overload
    def transform(self, X: Others) -> Any: ...
    def transform(self, X: Samples) -> Any:
        """Signed scores (n, k), followed by what ``output`` requests, or aligned samples.

        Returns
        -------
        array (n, k), or more columns; see :meth:`get_feature_names_out`
        """
        if self.output == outputs.ALIGNED:
            return self._aligned_rows(self._new_rows(X))
        return self._put_out(self.encode(X))

    def _aligned_rows(self, rows, **given):
        """Checked rows moved to the pose of the first component, (n, L)."""
        aligned = self.model_.align(self._open(rows, self.operator_, **given))
        flat = aligned.reshape(len(aligned), self.operator_.n_weights)
        if rows.container is None:
            return flat
        return rows.container.table(flat, self.get_feature_names_out())

    def _put_out(self, codes):
        """What ``transform`` returns for codes."""
        found = codes.scores
        if self.output != "scores":
            put_out = partial(outputs.side_by_side, self.model_, self.output)
            found = by_rows(put_out, codes.scores, codes.index)
        if codes.container is None:
            return found
        return codes.container.table(found, self.get_feature_names_out())

    @overload
    def inverse_transform(self, X: DaskT) -> DaskT: ...
    @overload
    def inverse_transform(self, X: ArrayLike) -> np.ndarray: ...
    def inverse_transform(self, X: Any) -> Any:
        """Samples from what ``transform`` returned.

        With plain scores every component is in its reference pose: the window centred, no rotation,
        no flip. With ``output="scores+poses"`` the result is the reconstruction. Poses in physical
        units and aligned samples cannot be inverted.

        Parameters
        ----------
        X : array (n, k) or (n, 2 k)

        Returns
        -------
        array (n, d) if the training rows were flat, else (n, \\*sample_shape)
        """
        return by_rows(partial(outputs.inverse, self.model_, self.fit_.row_shape, self.output), X)

    def labelled_components(self) -> Any:
        """The components in the type of container that held the samples of the fit.

        Returns
        -------
        DataArray, list of Evoked, FDataGrid, or ``components_`` as they are
            Positions along an axis are those of a window at rest, in the middle of the sample.
        """
        check_is_fitted(self)
        return components_in(self.labels_, self.components_, self.operator_.weight_grid)

    @overload
    def align(self, X: np.ndarray, component: int = 0) -> np.ndarray: ...
    @overload
    def align(self, X: KindT, component: int = 0) -> KindT: ...
    @overload
    def align(self, X: Others, component: int = 0) -> Any: ...
    def align(self, X: Samples, component: int = 0) -> Any:
        """Every sample moved to the reference pose of a component, (n, \\*weight_shape).

        Each weight gets the average of the sample values that it explains, zero if there are none:
        the part of the sample under the window, or the sample rotated or flipped back. The sign of
        the score is not undone, and nothing is centred.
        """
        rows = self._new_rows(X)
        checks.integer("component", component, 0, max(0, self.n_components_ - 1))
        aligned = self.model_.align(self._open(rows, self.operator_), component)
        return samples_in(rows.container, aligned, self.operator_.weight_grid)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that ``transform`` returns.

        ``gtpca0, gtpca1, ..``; with ``output="scores+poses"`` also ``gtpca0_index, ..``, with
        ``output="scores+units"`` one per component and quantity, such as ``gtpca0_start``. If the
        pose is shared, these are ``gtpca_index`` and ``start``. With ``output="aligned"``,
        ``aligned0, ..``.
        """
        return np.asarray(outputs.names(self.model_, self.output), dtype=object)

    def plot_components(self, **how: Any) -> Any:
        """Plot the components; see :func:`gtpca.plots.plot_components`."""
        return _drawn("components", self, **how)

    def plot_energy(self, X: Samples = None, **how: Any) -> Any:
        """Plot how much they explain; see :func:`gtpca.plots.plot_energy`."""
        return _drawn("energy", self, X, **how)

    def plot_history(self, **how: Any) -> Any:
        """Plot the progress of the fit; see :func:`gtpca.plots.plot_history`."""
        return _drawn("history", self, **how)

    def plot_noise(self, **how: Any) -> Any:
        """Plot the spectrum of the noise; see :func:`gtpca.plots.plot_noise`."""
        return _drawn("noise", self, **how)

    def plot_perturbation(self, X: Samples, **how: Any) -> Any:
        """Plot the effect of each component; see :func:`gtpca.plots.plot_perturbation`."""
        return _drawn("perturbation", self, X, **how)

    def plot_pose_posterior(self, X: Samples, **how: Any) -> Any:
        """Plot the probabilities of poses; see :func:`gtpca.plots.plot_pose_posterior`."""
        return _drawn("pose_posterior", self, X, **how)

    def plot_poses(self, X: Samples, component: int | None = 0, **how: Any) -> Any:
        """Plot how often each pose occurs; see :func:`gtpca.plots.plot_poses`."""
        return _drawn("poses", self, X, component, **how)

    def plot_reconstructions(self, X: Samples, **how: Any) -> Any:
        """Plot samples and reconstructions; see :func:`gtpca.plots.plot_reconstructions`."""
        return _drawn("reconstructions", self, X, **how)

    def plot_scores(self, X: Samples, **how: Any) -> Any:
        """Plot one point per sample; see :func:`gtpca.plots.plot_scores`."""
        return _drawn("scores", self, X, **how)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = list(self._precisions)
        return tags


def relative_energies(energies) -> np.ndarray:
    """Energies (k + 1,) after 0, 1, .., k components as shares of the first, (k,)."""
    return energies[1:] / energies[0] if energies[0] > 0 else np.ones(len(energies) - 1)


def _drawn(what, *arguments, **how):
    from gtpca import plots

    return getattr(plots, f"plot_{what}")(*arguments, **how)
