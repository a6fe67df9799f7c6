#!/usr/bin/env bash
# sbatch deploy/slurm.sh      : a scheduler, its workers and a run, as one job of SLURM.
#SBATCH --job-name=cfl-verify
#SBATCH --ntasks=128
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#SBATCH --constraint=
# Name one kind of node in --constraint: blocks of two kinds of machine do not meet in a run.
set -euo pipefail
source "${CFL_VENV:-$HOME/cfl/bin/activate}"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
folder=${CFL_RUN:-$PWD/runs/$SLURM_JOB_ID}
address=$PWD/scheduler-$SLURM_JOB_ID.json
trap 'kill $(jobs -p) 2>/dev/null || true; rm -f "$address"' EXIT
dask scheduler --scheduler-file "$address" --no-dashboard &
while [ ! -s "$address" ]; do
    kill -0 $! # ends this job where the scheduler has ended
    sleep 1
done
cfl-verify warm-up
srun --ntasks=$((SLURM_NTASKS - 1)) cfl-verify worker --scheduler-file "$address" \
    --nthreads 1 --no-dashboard --death-timeout 60 &
scheduler=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$address")
if [ -s "$folder/store.sqlite" ]; then  # an empty file: a start that was stopped, to be made again
    cfl-verify resume "$folder" --scheduler "$scheduler"
else
    cfl-verify run --profile standard --output "$folder" --scheduler "$scheduler"
fi
