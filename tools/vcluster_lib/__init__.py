"""The parts of tools/vcluster: plan (pure), state, namespaces, network, slurm, commands."""
