#!/bin/bash
# Counts the node's GPUs: those of its GRES, those that SLURM gave this job, those that the driver lists.
#
# Prints: gpus             GPUs of the node's GRES; 0 on a node without
#         given            GPUs that the job has
#         listed           GPUs that nvidia-smi lists; only where it is installed
#         ecc_errors       their uncorrected ECC errors since the driver was loaded; only where they count them
#         gpu_memory_mb    the memory of the smallest
# Fails (1) when the driver lists fewer GPUs than the job has, does not answer, counts an uncorrected error,
# or a GPU has less memory than it should. Cannot say (125) when the node cannot be asked for its GRES,
# the job was not given all of its GPUs, or the driver takes more than a minute.
#
# BURN_IN_GPU_MEMORY_MB    the least memory of each GPU; default 1
# BURN_IN_NVIDIA_SMI       default nvidia-smi
set -u
LC_ALL=C
least_mb=${BURN_IN_GPU_MEMORY_MB:-1}
smi=${BURN_IN_NVIDIA_SMI:-nvidia-smi}

fail() {
  echo "gpus: $*" >&2
  exit 1
}

cannot_say() {
  echo "gpus: $*" >&2
  exit 125
}

# Adds up `gpu:h100:4(S:0-1),gpu:2`; other GRES do not count.
count_gres() {
  local list=$1 item items words last sum=0
  while [[ $list =~ \([^\)]*\) ]]; do list=${list/"${BASH_REMATCH[0]}"/}; done
  IFS=, read -r -a items <<< "$list"
  for item in "${items[@]}"; do
    IFS=: read -r -a words <<< "$item"
    [ "${words[0]}" = gpu ] || continue
    last=${words[-1]}
    [[ $last =~ ^[0-9]+$ ]] || last=1
    sum=$((sum + last))
  done
  echo "$sum"
}

# What SLURM gave: a number, or a list of devices.
count_given() {
  local list items
  if [ -n "${SLURM_GPUS_ON_NODE:-}" ]; then
    echo "$SLURM_GPUS_ON_NODE"
    return
  fi
  list=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}}
  IFS=, read -r -a items <<< "$list"
  echo ${#items[@]}
}

# query FIELD: a line for each GPU.
query() {
  timeout 60 "$smi" "--query-gpu=$1" --format=csv,noheader,nounits
}

shown=$(timeout 30 scontrol show node "${SLURMD_NODENAME:?}") || cannot_say "scontrol does not show the node"
gres=$(sed -n 's/^ *Gres=\([^ ]*\).*/\1/p' <<< "$shown")
[ -n "$gres" ] || cannot_say "scontrol does not show the node's GRES"
gpus=$(count_gres "$gres")
given=$(count_given)
echo "gpus=$gpus"
echo "given=$given"
[ "$given" = "$gpus" ] || cannot_say "the job has $given of the node's $gpus GPUs"
[ "$gpus" -gt 0 ] || exit 0
command -v "$smi" > /dev/null || exit 0

memory=$(query memory.total)
case $? in
  0) ;;
  124) cannot_say "$smi takes more than a minute" ;;
  *) fail "$smi does not answer" ;;
esac
listed=$(grep -c . <<< "$memory")
echo "listed=$listed"
[ "$listed" -ge "$given" ] || fail "$smi lists $listed of $given GPUs"
smallest=$(sort -n <<< "$memory" | head -n 1)
[[ $smallest =~ ^[0-9]+$ ]] || fail "$smi says of a GPU's memory: $smallest"
echo "gpu_memory_mb=$smallest"
[ "$smallest" -ge "$least_mb" ] || fail "a GPU has $smallest MB of memory"
# A GPU without ECC says [N/A] or [Not Supported]; an old driver does not know the field.
if ecc=$(query ecc.errors.uncorrected.volatile.total) && grep -qxE '[0-9]+' <<< "$ecc"; then
  errors=$(($(grep -xE '[0-9]+' <<< "$ecc" | paste -sd +)))
  echo "ecc_errors=$errors"
  [ "$errors" -eq 0 ] || fail "$errors uncorrected ECC errors"
fi
