#pragma once

#include <span>

#include "cli/options/flags.h"

// The parts of the option table in flags.h, and the fields that several rows share.
namespace toprun::options {

// Commands that launch ranks: `run`, `bench` (its ranks are toprun processes), and `submit`, which
// passes the option to the run that it submits.
inline constexpr Commands launches =
    of(Command::run, Command::bench, Command::bench_pairs, Command::submit);
// Commands that take the user's script.
inline constexpr Commands scripts = of(Command::run, Command::submit);
// Commands with options for ranks.
inline constexpr Commands ranks = launches | of(Command::shell);
// Commands that can use several nodes. `setup` is not one of these commands, because its job has
// one node.
inline constexpr Commands nodes = of(Command::submit, Command::shell);
inline constexpr Commands batch = of(Command::submit, Command::setup);
inline constexpr Commands allocations = nodes | batch;
// All commands that launch ranks or submit a job.
inline constexpr Commands starting = launches | allocations;
inline constexpr Commands orders = of(Command::topo_order, Command::topo_draw);
inline constexpr Commands costs = orders | of(Command::topo_score);
inline constexpr Commands networks = costs | of(Command::topo_show, Command::topo_convert);
inline constexpr Commands networks_of_a_node = of(Command::net_show, Command::net_env);

// The rows of `toprun bench` come first. So its letters from nccl-tests are found before the same
// letters of other options.
std::span<const Flag> bench_rows();
std::span<const Flag> allocation_rows();
std::span<const Flag> pod_rows();
std::span<const Flag> launch_rows();
std::span<const Flag> setup_rows();
std::span<const Flag> verb_rows();

// Each row of the table names the fields that it sets. These functions set fields that several rows
// share. A row without `known_to` is an option of the `usual` commands.
constexpr Flag ours(Flag flag, Commands usual = launches) {
  if (flag.known_to == 0) flag.known_to = usual;
  return flag;
}

constexpr Flag torchrun(Flag flag) {
  flag.origin = Origin::torchrun;
  return ours(flag);
}

}  // namespace toprun::options
