#pragma once

#include <span>

#include "cli/options/flags.h"

// The parts of the table in flags.h, and helpers to write its rows.
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
// All commands that start or submit something.
inline constexpr Commands starting = launches | allocations;
inline constexpr Commands orders = of(Command::topo_order, Command::topo_draw);
inline constexpr Commands costs = orders | of(Command::topo_score);
inline constexpr Commands networks = costs | of(Command::topo_show, Command::topo_convert);
inline constexpr Commands networks_of_a_node = of(Command::net_show, Command::net_env);

// These rows come first, because bench uses the option letters of nccl-tests.
std::span<const Flag> bench_rows();
std::span<const Flag> allocation_rows();
std::span<const Flag> pod_rows();
std::span<const Flag> launch_rows();
std::span<const Flag> setup_rows();
std::span<const Flag> verb_rows();

constexpr Flag torchrun(FlagId id, std::string_view name, char letter, std::string_view value,
                        std::string_view variable, Group group, std::string_view help,
                        std::string_view default_value = {}, std::string_view older_variable = {}) {
  return {id,    name, letter,        value,          variable, Origin::torchrun,
          group, help, default_value, older_variable, launches};
}

constexpr Flag ours(FlagId id, std::string_view name, char letter, std::string_view value,
                    std::string_view variable, Group group, std::string_view help,
                    std::string_view default_value = {}) {
  return {id,    name, letter,        value, variable, Origin::toprun,
          group, help, default_value, {},    launches};
}

// Like the two functions above, for options that set a field of a launch.
constexpr Flag torchrun(FlagId id, std::string_view name, char letter, std::string_view value,
                        std::string_view variable, Group group, Setter set, std::string_view help,
                        std::string_view default_value = {}, std::string_view older_variable = {}) {
  Flag flag =
      torchrun(id, name, letter, value, variable, group, help, default_value, older_variable);
  flag.set = set;
  return flag;
}

constexpr Flag ours(FlagId id, std::string_view name, char letter, std::string_view value,
                    std::string_view variable, Group group, Setter set, std::string_view help,
                    std::string_view default_value = {}) {
  Flag flag = ours(id, name, letter, value, variable, group, help, default_value);
  flag.set = set;
  return flag;
}

constexpr Flag only(Commands commands, Flag flag) {
  flag.known_to = commands;
  return flag;
}

constexpr Flag also(Commands commands, Flag flag) {
  flag.known_to |= commands;
  return flag;
}

constexpr Flag optional_value(Flag flag) {
  flag.value_optional = true;
  return flag;
}

constexpr Flag repeatable(Flag flag) {
  flag.repeatable = true;
  return flag;
}

constexpr Flag of_one_call(Flag flag) {
  flag.of_one_call = true;
  return flag;
}

constexpr Flag against(std::string_view rivals, Flag flag) {
  flag.rivals = rivals;
  return flag;
}

}  // namespace toprun::options
