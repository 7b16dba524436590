"""The GT-PC layer and the sequentially trained network of the paper, in torch.

The layer holds one component, the network a chain of them, each trained on the residual of the
previous ones. Both are built on the operators of the library: the geometry is written once.
"""

from __future__ import annotations

from gtpca.optional import missing

try:
    import torch  # noqa: F401
except ImportError as error:
    raise missing("torch", "torch") from error

from gtpca.nn.layer import GTPCLayer, LayerOutput
from gtpca.nn.network import GTPCNetwork
from gtpca.nn.solver import Adam

__all__ = ["Adam", "GTPCLayer", "GTPCNetwork", "LayerOutput"]
