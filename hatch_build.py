"""What the package index is told: addresses, made from one, and a README with absolute links."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(!?\[[^\]]*\])\((?!https?:|mailto:|#)([^)\s]+)\)")


class AddressHook(MetadataHookInterface):
    """Fills in ``urls`` and ``readme``; ``address`` in pyproject.toml is the place to change it."""

    def update(self, metadata: dict) -> None:
        """Set them in the metadata of the project."""
        address = self.config["address"]
        owner, name = address.split("/")[-2:]
        metadata["urls"] = {
            "Source": address,
            "Issues": f"{address}/issues",
            "Documentation": f"https://{owner}.github.io/{name}/",
            "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
            "Paper": self.config["paper"],
        }
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, address),
        }


def absolute_links(text: str, address: str) -> str:
    """Markdown with relative links made absolute: pictures as files, all else as pages."""

    def absolute(found: re.Match) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}({address}/{kind}/HEAD/{found[2]})"

    return RELATIVE.sub(absolute, text)
