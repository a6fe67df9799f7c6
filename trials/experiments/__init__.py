"""The experiments that claims simulate.

Importing this package imports every module in it, which registers every experiment.
"""

import importlib
import pkgutil

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
