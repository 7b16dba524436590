"""What estimators have of scikit-learn: its base classes, with types, and a link to their page.

scikit-learn has no types, and to type checkers its classes are Any. What inherits from Any has
every attribute: a misspelt method would be no mistake.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "ArrayLike",
    "BaseEstimator",
    "CallbackSupportMixin",
    "Documented",
    "OutlierMixin",
    "RandomState",
    "Samples",
    "Shape",
    "TransformerMixin",
    "documentation",
]

# Arrays, lists, and the containers of libraries that may not be installed.
Samples: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]
RandomState: TypeAlias = int | np.random.RandomState | None

if TYPE_CHECKING:
    from typing import Self

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
        """What can be transformed."""

        def fit_transform(self, X: Samples, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...

    class CallbackSupportMixin:
        """A fit that can be watched."""

        def set_callbacks(self, *callbacks: Any) -> Self: ...
        def _init_callback_context(self, **about: Any) -> Any: ...

    class OutlierMixin:
        """What tells outliers from inliers."""

        def fit_predict(self, X: Samples, y: Any = None, **fit_params: Any) -> np.ndarray: ...

else:
    from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin
    from sklearn.callback import CallbackSupportMixin


@cache
def documentation() -> str:
    """The address of the site, which ends in a slash; nothing if the package names none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("gtpca").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    known = dict(url.split(", ", 1) for url in urls)
    return known.get("Documentation", "")


class Documented:
    """The drawing of an estimator in a notebook links to its page in the reference."""

    _doc_link_module = "gtpca"

    @property
    def _doc_link_template(self) -> str:
        site = documentation()
        return site and f"{site}api/generated/gtpca.{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
