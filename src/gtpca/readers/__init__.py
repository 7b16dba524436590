"""Reading rows from files of many formats, and writing results.

:func:`read_data` reads ``.npy``, ``.npz``, ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.h5``,
``.xlsx``, ``.zarr``, ``.mat``, ``.ts``, stacks of images in ``.tif``, ``.fits``, ``.mrcs`` and
``.star``, folders of PNG, JPEG, TIFF or FITS images, and recordings and epochs in ``.fif``,
``.edf``, ``.bdf``, ``.vhdr`` and ``.set``.
:func:`read_signal` reads one whole recording, also from WFDB ``.hea`` and ``.wav`` files.
:func:`write_star` writes poses of particles in the conventions of RELION.
A file that cannot be read raises a one-line ValueError that names the file and the place.

The functions that read single formats may raise any exception: :func:`read_data` turns it into
that one line. No size stated in a file is trusted before it was compared with the size of the file.
"""

from gtpca.readers.data import Data, FileRows
from gtpca.readers.particles import relion_poses, write_star
from gtpca.readers.reading import read_data
from gtpca.readers.signals import Recording, read_signal
from gtpca.readers.writers import write_array, write_table

__all__ = [
    "Data",
    "FileRows",
    "Recording",
    "read_data",
    "read_signal",
    "relion_poses",
    "write_array",
    "write_star",
    "write_table",
]
