"""Clustered federated learning of neural networks on images: files, drawn sets, training.

`images` and `femnist` read data sets from folders, `drawn` makes sets without any file, and
`federations` splits images over clients.  `architectures` and `training` need PyTorch (the extra
``networks``), which is imported when a network is first used.
"""
