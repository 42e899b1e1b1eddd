#!/bin/sh
# Runs a program as several processes of this machine, with the mpiexec of Open MPI or MPICH.
#
#   mpiexec.sh MPIEXEC PROCESSES PROGRAM [ARGUMENT...]
#
# They talk through shared memory and the loopback interface, may be more than there are processors, and yield these
# to each other. TL_MPI_SECONDS (120) bounds the run.
set -eu
mpiexec=$1 processes=$2
shift 2

# Open MPI. It wants to be asked twice before it runs as root, in a container for example.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl="${OMPI_MCA_btl:-self,vader,tcp}" OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_pml=ob1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# Its windows "rdma" are not there for a process that is alone.
export OMPI_MCA_osc="${OMPI_MCA_osc:-^rdma}"
# MPICH
export HYDRA_IFACE=lo FI_TCP_IFACE=lo

exec timeout -k 5 "${TL_MPI_SECONDS:-120}" "$mpiexec" -n "$processes" "$@"
