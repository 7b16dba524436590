"""Every operator against its slow and obvious meaning."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import Shift
from gtpca.operators import FeatureWeightedOperator, Operator
from gtpca.shift import window_sums
from gtpca.testing import check_operator


def test_every_operator(bound):
    check_operator(bound)


def test_every_operator_with_feature_weight(bound):
    weight = np.random.default_rng(1).uniform(0.2, 2.0, bound.n_features)
    check_operator(FeatureWeightedOperator(bound, weight))
