"""Typed versions of scikit-learn's base classes, and links from estimators to their pages.

scikit-learn has no types, so that its classes are Any to type checkers. A class that inherits from
Any has every attribute: a misspelt method would not be detected. Type checkers see the typed bases
below instead, and the estimators declare their fitted attributes; ``tests/typed/user.py`` is a
script with mistakes that ``mypy --strict`` must find, and no others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, overload

import numpy as np
import sklearn
from numpy.typing import ArrayLike

__all__ = [
    "HAS_CALLBACKS",
    "ArrayLike",
    "ArrayT",
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "DaskT",
    "Documented",
    "Eager",
    "KindT",
    "Others",
    "OutlierMixin",
    "RandomState",
    "Samples",
    "Shape",
    "TransformerMixin",
    "documentation",
    "with_callbacks",
]

Shape: TypeAlias = tuple[int, ...]
RandomState: TypeAlias = int | np.random.RandomState | None


# Samples of libraries that may not be installed, described to type checkers by their interface.
# None of them matches a NumPy array: if two overloads match, checkers take neither.
class Rows(Protocol):
    """Arrays of any library."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...


class DaskArray(Rows, Protocol):
    """Dask arrays."""

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]: ...
    def compute(self) -> Any: ...


class DataArray(Rows, Protocol):
    """xarray DataArrays."""

    @property
    def dims(self) -> tuple[Hashable, ...]: ...
    @property
    def coords(self) -> Any: ...


class Tensor(Rows, Protocol):
    """torch tensors."""

    def detach(self) -> Any: ...


class DataFrame(Protocol):
    """pandas DataFrames."""

    @property
    def iloc(self) -> Any: ...


class SparseMatrix(Protocol):
    """scipy.sparse arrays."""

    def toarray(self) -> Any: ...


class Stored(Rows, Protocol):
    """h5py datasets and zarr arrays."""

    @property
    def chunks(self) -> Any: ...


class Recording(Protocol):
    """MNE Epochs."""

    def get_data(self) -> Any: ...


class Functions(Protocol):
    """A scikit-fda FDataGrid."""

    @property
    def data_matrix(self) -> Any: ...


class Labelled(Protocol):
    """The result of :func:`gtpca.labelled`."""

    @property
    def rows(self) -> Any: ...
    @property
    def labels(self) -> Any: ...


Others: TypeAlias = (
    Sequence[Any] | DataFrame | SparseMatrix | Stored | Recording | Functions | Labelled
)
Eager: TypeAlias = DataArray | Tensor | Others  # samples that are rarely lazy
Samples: TypeAlias = Any  # all of these, and what can be converted to an array
DaskT = TypeVar("DaskT", bound=DaskArray)
KindT = TypeVar("KindT", bound=DaskArray | DataArray | Tensor)  # results have this type

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import TypeVar as TypeVarWithDefault

    FunctionT = TypeVar("FunctionT")

    ArrayT = TypeVarWithDefault("ArrayT", bound=Rows, default=np.ndarray)

    class BaseEstimator:
        """Parameters that can be read, set, cloned and printed."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, **routed: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **routed: bool | str | None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def _repr_html_(self) -> str: ...

    class TransformerMixin:
        """Estimators with a ``transform`` method."""

        @overload
        def fit_transform(self, X: np.ndarray, y: Any = None, **fit_params: Any) -> np.ndarray: ...
        @overload
        def fit_transform(self, X: KindT, y: Any = None, **fit_params: Any) -> KindT: ...
        @overload
        def fit_transform(self, X: Others, y: Any = None, **fit_params: Any) -> Any: ...
        def fit_transform(self, X: Samples, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...

    class CallbackSupportMixin:
        """A fit that can be watched."""

        def set_callbacks(self, *callbacks: Any) -> Self: ...
        def _init_callback_context(self, **about: Any) -> Any: ...

    def with_callbacks(fit: FunctionT) -> FunctionT:
        """A fit that tells callbacks when it ends."""
        ...

    HAS_CALLBACKS: bool

    class ClassifierMixin:
        """Classifiers."""

        def score(self, X: Samples, y: Any, sample_weight: Any = None) -> float: ...

    class OutlierMixin:
        """Outlier detectors."""

        def fit_predict(self, X: Samples, y: Any = None, **fit_params: Any) -> np.ndarray: ...

else:
    ArrayT = TypeVar("ArrayT")
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, TransformerMixin

    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn before 1.9
        HAS_CALLBACKS = False

        class CallbackSupportMixin:
            """A fit that nobody can watch."""

            def set_callbacks(self, *callbacks):
                """An error that says what callbacks need, if there are any."""
                if callbacks:
                    raise ImportError(
                        f"callbacks need scikit-learn 1.9 or later; this is {sklearn.__version__}."
                    )
                return self

            def _init_callback_context(self, **about):
                return Unwatched()

        def with_callbacks(fit):
            """The function as it is."""
            return fit

    else:
        HAS_CALLBACKS = True


class Unwatched:
    """Stands for scikit-learn's task context if there are no callbacks."""

    def subcontext(self, name: str, **about: Any) -> Unwatched:
        """The context of a part of the task."""
        return self

    def call_on_fit_task_begin(self, **about: Any) -> None:
        """The task begins."""

    def call_on_fit_task_end(self, **about: Any) -> bool:
        """The task ends; nobody asks to stop."""
        return False


@cache
def documentation() -> str:
    """The address of the site, with a trailing slash; empty if the package states none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("gtpca").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    known = dict(url.split(", ", 1) for url in urls)
    return known.get("Documentation", "")


class Documented:
    """The HTML representation of an estimator in a notebook links to its page in the reference."""

    _doc_link_module = "gtpca"

    @property
    def _doc_link_template(self) -> str:
        site = documentation()
        return site and f"{site}api/generated/gtpca.{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
