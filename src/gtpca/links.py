"""Where the documentation is, as the metadata of the installed package say."""

from __future__ import annotations

from functools import cache

__all__ = ["Documented", "documentation"]


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
