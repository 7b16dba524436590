r"""A small ridge on coefficients, for windows of which rows see only a part.

With crops and partial overlaps ``|T_t w|`` differs between transforms, and two parts of a window
that no row sees together have no common scale: one component may hold a huge pattern at its edge
next to a faint one in the middle. A ridge ``rho`` on the coefficients gives them one:

    min over w, t_i, a_i  of  sum_i |r_i - a_i T_i w|^2 + rho a_i^2 |w|^2.

For ``|w| = 1`` a match takes the transform with the largest ``<r, T w>^2 / (|T w|^2 + rho)``, its
coefficient is ``a = <r, T w> / (|T w|^2 + rho)``, and an update solves
``(N + rho sum_i a_i^2) w = rhs``. Both lower the objective. For a block of components the Gram
matrices are ``G_t + rho W W'`` and the update has ``N + rho sum_i a_i a_i'``. Weights that no row
sees do not affect any residual: they keep their values, as without a ridge, and are predicted.

Components are found with the ridge; codes are computed without it. It is added to the normal
equations by :meth:`gtpca.operators.normal.Normal.ridged`, and to Gram matrices by
:func:`gtpca.model.matching.make_blocks`: ``problem.blocks_for_fit`` and ``update`` use it, and
``problem.block_for_codes`` does not. With ``ridge="auto"`` the search ends with a climb without it,
to see what the ridge costs (``problem.cost``). The result records which ridge was used, and after a
component without a ridge there are none with it.
"""

from __future__ import annotations

__all__ = ["AUTO", "COST"]

AUTO, COST = 0.05, 4e-3  # of "auto"; benchmarks/bench_ridge.py compares others
