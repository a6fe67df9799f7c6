"""The bill of materials of the main job, as CycloneDX: `python -m tests.sbom > sbom.json`.

It lists the locked packages with versions, hashes and licences.  It holds no time and no random
number, so that equal locks give equal files.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from tests.dependencies import ROOT, licence, locked


def hashes(name: str) -> dict[str, list[str]]:
    """Package -> SHA-256 of each of its files, as a file of `requirements/` locks them."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    stanzas = re.split(r"\n(?=[a-z0-9])", text)
    return {
        s.split("==")[0].strip(): sorted(re.findall(r"sha256:([0-9a-f]{64})", s)) for s in stanzas
    }


def document(name: str = "verify") -> dict[str, Any]:
    """The bill of one file of `requirements/`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    files = hashes(name)
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{package}@{version}",
            "name": package,
            "version": version,
            "purl": f"pkg:pypi/{package}@{version}",
            "licenses": [{"license": {"name": licence(package)}}],
            "properties": [{"name": "file:sha256", "value": one} for one in files[package]],
        }
        for package, version in sorted(locked(name).items())
    ]
    me = f"pkg:pypi/{project['name']}@{project['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": me,
                "name": project["name"],
                "version": project["version"],
                "purl": me,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": me, "dependsOn": [c["bom-ref"] for c in components]}],
    }


if __name__ == "__main__":
    print(json.dumps(document(), indent=1))
