"""Nothing is collected where gtpca_paper is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("gtpca_paper") else ["*"]
