"""The energy above which rows are loud."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca.data.energies import loud_energy


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 101])
def test_rows_that_count_once_give_what_sorting_gives(n):
    energies = np.random.default_rng(n).exponential(size=n) + 0.1
    energies = np.append(energies, [0.0, 0.0])  # without energy: they do not count
    assert loud_energy(energies, np.ones(n + 2)) == loud_energy(energies, np.full(n + 2, 2.0))
    assert loud_energy(np.zeros(3), np.ones(3)) == np.inf
