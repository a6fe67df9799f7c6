"""A run as a folder of web pages that need no server and no network."""

from reports.site.build import FOLDER, site

__all__ = ["FOLDER", "site"]
