"""Poses of images beside registration: phase correlation and pystackreg.

``moved``: objects like those of bench_refined.py, which differ less from each other, at shifts up
to a tenth of the side, neither turned nor scaled; ``turned``: also at any angle. Noise of .1 and 1
times the energy of the objects, 100 images of 40 x 40. Median errors of poses up to one common
pose, processor seconds, and what is left of the clean images: the images are moved back by the
poses found, their mean (all that registration learns) is moved forth, and its squared distance from
the clean images, with the best factor for each, is divided by their energy.

Peers register to a reference, which is the first image and then, three times, the mean of the
images that were moved back: phase correlation (scikit-image, ``phase_cross_correlation``; turned
images first by the polar transform of the moduli of their spectra, of the two angles that these
leave the one with the smaller distance) and pystackreg (``TRANSLATION`` or ``RIGID_BODY``). GTPCA
has one component, or four in one pose. Settings of the peers (normalisation, a Gaussian filter) are
the best for shifts on seeds 100 and 101.

    python benchmarks/bench_pose_peers.py [moved turned] [--seeds 0 1 ..]

Needs scikit-image and pystackreg. What is in bench_pose_peers.json is not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from bench_refined import away, drawn, pattern, run_missing
from scipy import ndimage

from gtpca import GTPCA, Shift, Similarity

SIZE, COUNT, REACH, ROUNDS = 40, 100, 4.0, 3
NOISES = (0.1, 1.0)
UPSAMPLING = 20
SETTINGS = {"phase": {"normalization": None, "blur": 0}, "pystackreg": {"blur": 0}}


def objects(seed, noise, turns):
    """Noisy and clean images (n, 40, 40) of four patterns, and their poses (n, 4)."""
    rng = np.random.default_rng(seed)
    patterns, sizes = [pattern(rng) for _ in range(4)], np.array([1, 0.3, 0.2, 0.15])
    angles = rng.uniform(0, 360, COUNT) if turns else np.zeros(COUNT)
    shifts = rng.uniform(-REACH, REACH, (COUNT, 2))
    pose = np.column_stack([angles, np.ones(COUNT), shifts])
    scores = rng.standard_normal((COUNT, 4)) * sizes
    scores[:, 0] = 1 + 0.2 * scores[:, 0]
    clean = np.array([drawn(patterns, *pair, SIZE) for pair in zip(scores, pose, strict=True)])
    level = np.sqrt(noise * np.mean(clean**2))
    return clean + level * rng.standard_normal(clean.shape), clean, pose[:, [0, 2, 3]]


def matrix(pose):
    """The rigid motion (3, 3) of row and column about the middle: turn, then shift."""
    angle, middle = np.deg2rad(pose[0]), (SIZE - 1) / 2
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, -sin], [sin, cos]])
    found = np.eye(3)
    found[:2, :2] = turn
    found[:2, 2] = middle + np.asarray(pose[1:]) - turn @ [middle, middle]
    return found


def warped(image, motion):
    """An image moved by a motion (3, 3), by cubic splines; beyond it is zero."""
    back = np.linalg.inv(motion)
    return ndimage.affine_transform(image, back[:2, :2], back[:2, 2], order=3)


def errors(found, truth):
    """Median errors of the angle and of the shift in pixels, up to one common motion."""
    offset = np.angle(np.mean(np.exp(1j * np.deg2rad(found[:, 0] - truth[:, 0])))) * 180 / np.pi
    angle = np.deg2rad(truth[:, 0])
    cos, sin = np.cos(angle), np.sin(angle)
    design = np.concatenate([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)])
    difference = (found[:, 1:] - truth[:, 1:]).T.ravel()
    rest = difference - design @ np.linalg.lstsq(design, difference, rcond=None)[0]
    lengths = np.hypot(*rest.reshape(2, -1))
    return {
        "degrees": away(found[:, 0], truth[:, 0] + offset),
        "pixels": float(np.median(lengths)),
    }


def left_of(rows, clean, poses):
    """The share of the clean images that the mean of the images moved back does not explain."""
    motions = [matrix(pose) for pose in poses]
    pairs = list(zip(rows, motions, strict=True))
    mean = np.mean([warped(x, np.linalg.inv(motion)) for x, motion in pairs], axis=0)
    moved = np.array([warped(mean, motion).ravel() for motion in motions])
    flat = clean.reshape(len(clean), -1)
    explained = np.sum(moved * flat, axis=1) ** 2 / np.sum(moved**2, axis=1)
    return float(1 - explained.sum() / np.sum(flat**2))


def by_gtpca(rows, turns, k=1):
    """Poses (n, 3) of a single component, or of several in one pose."""
    if turns:
        family = Similarity(factors=(1, 1), shifts=int(REACH))
        model = GTPCA(k, family, shared_pose=k > 1, random_state=0).fit(rows)
        return model.encode(rows).pose[:, 0][:, [0, 2, 3]]
    family = Shift((SIZE - 2 * int(REACH),) * 2, fractions=8)
    model = GTPCA(k, family, shared_pose=k > 1, random_state=0).fit(rows)
    poses = model.poses(model.encode(rows))
    starts = [poses[f"start_{axis}"].reshape(len(rows), -1)[:, 0] - REACH for axis in (0, 1)]
    return np.column_stack([np.zeros(len(rows)), *starts])


def to_reference(register):
    """A method that finds poses (n, 3) of images by registering each to a reference."""

    def found(rows, turns, **how):
        reference = rows[0]
        for _ in range(ROUNDS + 1):
            poses = np.array([register(reference, row, turns, **how) for row in rows])
            back = [warped(x, np.linalg.inv(matrix(p))) for x, p in zip(rows, poses, strict=True)]
            reference = np.mean(back, axis=0)
        return poses

    return found


@to_reference
def by_phase(reference, image, turns, normalization, blur):
    """The pose of an image by phase correlation."""
    smooth = [ndimage.gaussian_filter(x, blur) if blur else x for x in (reference, image)]
    angles = polar_angles(*smooth) if turns else (0.0,)
    best = (np.inf, None)
    for angle in angles:
        back = warped(smooth[1], np.linalg.inv(matrix((angle, 0, 0))))
        shift = -phase_shift(smooth[0], back, normalization)
        cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        pose = (angle, cos * shift[0] - sin * shift[1], sin * shift[0] + cos * shift[1])
        rest = np.sum((warped(smooth[1], np.linalg.inv(matrix(pose))) - smooth[0]) ** 2)
        best = min(best, (rest, pose))
    return best[1]


def phase_shift(reference, image, normalization):
    """The shift that registers an image, rows and columns."""
    from skimage.registration import phase_cross_correlation

    how = {"upsample_factor": UPSAMPLING, "normalization": normalization}
    return phase_cross_correlation(reference, image, **how)[0]


def polar_angles(reference, image):
    """The two angles that moduli of spectra allow, in degrees."""
    from skimage.transform import warp_polar

    window = np.outer(np.hanning(SIZE), np.hanning(SIZE))
    polar = [
        warp_polar(np.fft.fftshift(np.abs(np.fft.fft2(x * window, (80, 80)))), radius=24)
        for x in (reference, image)
    ]
    turn = phase_shift(polar[0][:180], polar[1][:180], None)[0]
    return turn, turn + 180


@to_reference
def by_pystackreg(reference, image, turns, blur):
    """The pose of an image by pystackreg."""
    from pystackreg import StackReg

    smooth = [ndimage.gaussian_filter(x, blur) if blur else x for x in (reference, image)]
    kind = StackReg.RIGID_BODY if turns else StackReg.TRANSLATION
    found = StackReg(kind).register(*smooth)  # from the reference to the image, in (x, y)
    turn = found[:2, :2][::-1, ::-1]
    middle = np.array([(SIZE - 1) / 2] * 2)
    shift = turn @ middle + found[:2, 2][::-1] - middle
    return np.rad2deg(np.arctan2(turn[1, 0], turn[0, 0])), *shift


METHODS = {
    "gtpca 1": by_gtpca,
    "gtpca 4": partial(by_gtpca, k=4),
    "phase": by_phase,
    "pystackreg": by_pystackreg,
}


def registered(turns, noise, seed, settings=SETTINGS):
    """Errors and seconds of all methods on one draw."""
    rows, clean, truth = objects(seed, noise, turns)
    row = {"left known": left_of(rows, clean, truth)}
    for name, method in METHODS.items():
        begin = time.process_time()
        poses = method(rows, turns, **settings.get(name, {}))
        seconds = time.process_time() - begin
        measures = errors(poses, truth) | {"left": left_of(rows, clean, poses), "seconds": seconds}
        row |= {f"{measure} {name}": value for measure, value in measures.items()}
    return row


def cases(only):
    """Names and calls, each taking a seed."""
    for name, turns in (("moved", False), ("turned", True)):
        if name in only:
            for noise in NOISES:
                yield f"{name}, noise {noise:g}", lambda s, t=turns, e=noise: registered(t, e, s)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", default=["moved", "turned"])
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(10)))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    rows = json.loads(options.out.read_text()) if options.out.exists() else {}
    warnings.simplefilter("ignore")
    for name, run in cases(options.only):
        run_missing(name, run, options.seeds, rows, options.out)


if __name__ == "__main__":
    main()
