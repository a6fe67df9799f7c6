"""The files that a release needs: one version, whole lists, manifests that a program can read."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import sbom
from tests.dependencies import locked

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def dist():
    spec = importlib.util.spec_from_file_location("dist", ROOT / ".ci" / "dist.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(path):
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def test_all_files_name_one_version():
    (cited,) = texts(ROOT / "CITATION.cff")
    assert cited["version"] == PROJECT["version"]
    assert cited["license"] == PROJECT["license"]
    assert f"cfl-verify:{PROJECT['version']}" in (ROOT / "deploy/kubernetes.yaml").read_text()
    assert f"The version is {PROJECT['version']}." in (ROOT / "docs/stability.md").read_text()


def test_every_promise_of_the_threat_model_has_its_test():
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_threat_model_lists_every_command():
    from verify.cli.commands import COMMANDS

    text = (ROOT / "SECURITY.md").read_text("utf-8")
    names = [command.name for command in COMMANDS if command.name != "completion"]
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_names_tasks_that_there_are_and_needs_no_secret(path):
    text = path.read_text("utf-8")
    (workflow,) = texts(path)
    assert "secrets." not in text
    assert workflow["permissions"] == {"contents": "read"}
    tasks = set(re.findall(r"^\[testenv:([\w-]+)\]", (ROOT / "tox.ini").read_text(), re.MULTILINE))
    used = re.findall(r"\.ci/tox\.py -e ([\w,-]+)", text)
    assert {name for names in used for name in names.split(",")} <= tasks
    for job in workflow["jobs"].values():
        assert job["runs-on"] == "ubuntu-24.04" or "matrix" in job["runs-on"]


def test_manifests_of_kubernetes_fit_together():
    found = texts(ROOT / "deploy" / "kubernetes.yaml")
    by_kind = {}
    for one in found:
        assert {"apiVersion", "kind", "metadata", "spec"} <= set(one)
        by_kind.setdefault(one["kind"], []).append(one)
    assert set(by_kind) == {
        *("Service", "NetworkPolicy", "Deployment", "PersistentVolumeClaim", "Job")
    }
    (service,) = by_kind["Service"]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    for one in [*by_kind["Deployment"], *by_kind["Job"]]:
        pod = one["spec"]["template"]
        assert pod["metadata"]["labels"]["part-of"] == "cfl-verify"
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert pod["spec"]["automountServiceAccountToken"] is False
        (container,) = pod["spec"]["containers"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        selector = one["spec"].get("selector", {}).get("matchLabels", {})
        assert selector.items() <= pod["metadata"]["labels"].items()
    (job,) = by_kind["Job"]
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--scheduler={address}" in arguments
    worker = next(d for d in by_kind["Deployment"] if d["metadata"]["name"] == "cfl-worker")
    assert address in worker["spec"]["template"]["spec"]["containers"][0]["command"]
    claims = {c["metadata"]["name"] for c in by_kind["PersistentVolumeClaim"]}
    (volume,) = job["spec"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] in claims


@pytest.fixture
def slurm(tmp_path):
    """Run the SLURM script among stubs, and return its status and what it asked of the program."""
    programs = {
        "cfl-verify": 'echo "$@" >> asked',
        "dask": '[ -e dies ] && exit 1; echo \'{"address": "tcp://here:1"}\' > "$3"',
        "srun": "true",
        "sleep": '/bin/sleep .02; echo >> slept; [ "$(wc -l < slept)" -lt 900 ] || kill $PPID',
        "python": f'exec {sys.executable} "$@"',
    }
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "activate").write_text("")
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CFL_VENV": str(tmp_path / "activate"),
        "CFL_RUN": str(tmp_path / "run"),
        "SLURM_JOB_ID": "7",
        "SLURM_NTASKS": "3",
    }

    def run():
        script = ROOT / "deploy" / "slurm.sh"
        done = subprocess.run(
            ["bash", script], cwd=tmp_path, env=variables, capture_output=True, check=False
        )
        asked = tmp_path / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        asked.unlink(missing_ok=True)
        return done.returncode, lines

    return run


def test_the_slurm_job_goes_on_with_a_run_and_makes_one_anew_that_never_began(slurm, tmp_path):
    """An empty file is left by a start that was stopped: to resume it is refused."""
    new = f"run --profile standard --output {tmp_path}/run --scheduler tcp://here:1"
    assert slurm() == (0, ["warm-up", new])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "store.sqlite").touch()
    assert slurm() == (0, ["warm-up", new])
    (tmp_path / "run" / "store.sqlite").write_text("SQLite")
    assert slurm() == (0, ["warm-up", f"resume {tmp_path}/run --scheduler tcp://here:1"])


def test_the_slurm_job_ends_where_its_scheduler_does(slurm, tmp_path):
    """It waited for the address until its time was over."""
    (tmp_path / "dies").touch()
    status, asked = slurm()
    assert (status, asked) == (1, [])


def test_options_of_the_cluster_examples_are_options_of_the_command():
    from verify.cli.commands import resume, run

    known = {option for c in (run, resume) for p in c.params for option in p.opts}
    for name in ("slurm.sh", "kubernetes.yaml"):
        text = (ROOT / "deploy" / name).read_text("utf-8")
        lines = [
            t for t in text.splitlines() if "cfl-verify r" in t or t.strip().startswith("- --")
        ]
        used = {option for line in lines for option in re.findall(r"--[a-z]+", line)}
        assert used, name
        assert used <= known, name


def test_the_bill_of_materials_lists_every_locked_package():
    found = sbom.document()
    assert {c["name"]: c["version"] for c in found["components"]} == locked("verify")
    assert all(c["properties"] and c["licenses"][0]["license"]["name"] for c in found["components"])
    assert json.dumps(sbom.document()) == json.dumps(found)
    refs = [c["bom-ref"] for c in found["components"]]
    assert found["dependencies"][0]["dependsOn"] == refs


def test_a_wheel_with_tests_or_without_a_licence_is_refused():
    built = dist()
    names = [f"{package}/py.typed" for package in built.PACKAGES]
    names.append("cfl_verify-1.0.0.dist-info/licenses/LICENSE")

    def wheel(entries):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as files:
            for name in entries:
                files.writestr(name, "")
        return content.getvalue()

    assert built.faults(wheel(names)) == []
    assert built.faults(wheel(names[1:])) == ["bounds/py.typed is missing"]
    assert built.faults(wheel(names[:-1])) == ["LICENSE is missing"]
    assert built.faults(wheel([*names, "tests/x.py"])) == ["tests/x.py does not belong there"]


def test_a_source_archive_keeps_no_time_and_no_owner():
    built = dist()

    def archive(time, owner, order):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as files:
            for name in order:
                member = tarfile.TarInfo(name)
                member.size, member.mtime, member.uname = 1, time, owner
                files.addfile(member, io.BytesIO(b"x"))
        return content.getvalue()

    first = built.settled(archive(1, "a", ["x/b", "x/a"]), 9)
    assert first == built.settled(archive(2, "b", ["x/a", "x/b"]), 9)
    with tarfile.open(fileobj=io.BytesIO(first)) as files:
        assert [(m.name, m.mtime, m.uname) for m in files] == [("x/a", 9, ""), ("x/b", 9, "")]
