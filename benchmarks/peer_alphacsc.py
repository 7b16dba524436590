"""Convolutional dictionary learning by alphacsc, of one recording, for bench_events.py.

It runs in an interpreter of its own, where alphacsc is installed and gtpca need not be:

    python peer_alphacsc.py RECORDING.npy RESULT.npz LENGTH ATOMS PENALTY

The result holds atoms (K, L), activations (K, n - L + 1), and processor seconds of the fit, after a
short one by which everything was compiled.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from alphacsc import BatchCDL


def fitted(X, length, atoms, penalty, **how):
    """Atoms and activations of a recording (1, 1, n), with the defaults but for the start."""
    model = BatchCDL(
        n_atoms=atoms,
        n_times_atom=length,
        reg=penalty,
        rank1=False,
        D_init="chunk",
        n_jobs=1,
        verbose=0,
        random_state=0,
        **how,
    )
    return model.fit(X)


def main(recording, result, length, atoms, penalty):
    """One fit."""
    warnings.simplefilter("ignore")
    X = np.load(recording)[None, None]
    length, atoms, penalty = int(length), int(atoms), float(penalty)
    fitted(X[..., : 50 * length], length, atoms, penalty, n_iter=1)
    begun = time.process_time()
    model = fitted(X, length, atoms, penalty)
    seconds = time.process_time() - begun
    np.savez(result, atoms=model.D_hat_[:, 0], z=model.z_hat_[0], seconds=seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
