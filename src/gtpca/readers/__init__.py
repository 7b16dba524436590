"""Rows from files of many kinds, and results into files.

:func:`read_data` knows ``.npy``, ``.npz``, ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.h5``,
``.zarr``, ``.mat``, ``.ts``, folders of PNG or JPEG images, and recordings and epochs in ``.fif``,
``.edf`` and ``.bdf``.
:func:`read_signal` reads one whole recording, also from ``.hea`` of WFDB and ``.wav``.
What is wrong with a file is a ValueError of one line that names the file and the place.
"""

from gtpca.readers.data import Data, FileRows
from gtpca.readers.reading import read_data
from gtpca.readers.signals import Recording, read_signal
from gtpca.readers.writers import write_array, write_table

__all__ = [
    "Data",
    "FileRows",
    "Recording",
    "read_data",
    "read_signal",
    "write_array",
    "write_table",
]
