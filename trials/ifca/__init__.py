"""The Iterative Federated Clustering Algorithm of Ghosh et al., its variants, one-shot IFCA."""
