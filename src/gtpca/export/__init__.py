"""Fitted models for other programs."""

from gtpca.export.graphs import to_onnx

__all__ = ["to_onnx"]
