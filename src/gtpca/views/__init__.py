"""What plots and the page share: how to display a sample, colours, and PCA for comparison.

:mod:`gtpca.views.samples` decides whether a sample is lines, rows, an image, tiles or colours;
:mod:`gtpca.views.palette` has the colours of the whole package and their scales;
:mod:`gtpca.views.measures` computes PCA beside the model, and the poses that are informative. This
layer uses public attributes of a model only.
"""
