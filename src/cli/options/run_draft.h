#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/flags.h"
#include "cli/options/plan_options.h"
#include "cli/options/values.h"
#include "machine/container/container.h"
#include "node/plan/options.h"

namespace toprun::options {

using IsFile = std::function<bool(const std::string& path)>;

// A launch's options while they are parsed. Each option's setter stores its value here.
struct RunDraft {
  plan::Options options = {};
  // Values that are checked only together with other options, or that are only reported.
  container::Request container = {};
  PlanOptions plan = {};
  bool module = false;
  bool no_python = false;
  bool run_path = false;
  std::string standalone_source = {};
  bool keeps_no_logs = false;
  std::optional<Argument> rendezvous_settings = {};
  std::vector<std::string> notes = {};
  IsFile is_file = {};
};

template <class T>
plan::Options& owner_of(RunDraft& draft, T plan::Options::*) {
  return draft.options;
}
template <class T>
plan::Activation& owner_of(RunDraft& draft, T plan::Activation::*) {
  return draft.options.activation;
}
template <class T>
container::Request& owner_of(RunDraft& draft, T container::Request::*) {
  return draft.container;
}
template <class T>
PlanOptions& owner_of(RunDraft& draft, T PlanOptions::*) {
  return draft.plan;
}
template <class T>
RunDraft& owner_of(RunDraft& draft, T RunDraft::*) {
  return draft;
}

template <class T, class U>
void assign(T& target, const Argument&, U value) {
  target = static_cast<T>(std::move(value));
}
template <class T, class U>
void assign(plan::Setting<T>& target, const Argument& argument, U value) {
  target.source = argument.source;
  target.value = std::move(value);
}

// Parses the value by `parse` and stores it in `member`.
template <auto member, auto parse>
Result<void> put(RunDraft& draft, const Flag& flag, const Argument& argument) {
  auto parsed = TRY([&] {
    if constexpr (requires { parse(flag, argument); }) {
      return parse(flag, argument);
    } else {
      return parse(argument);
    }
  }());
  assign(owner_of(draft, member).*member, argument, std::move(parsed));
  return {};
}

// Calls `set` unless the value is empty. An empty value counts as if the option were not given,
// because scripts with unset variables pass empty values.
template <Setter set>
Result<void> unless_empty(RunDraft& draft, const Flag& flag, const Argument& argument) {
  return argument.value.empty() ? Result<void>() : set(draft, flag, argument);
}

template <int least, int most>
Result<int> number(const Argument& argument) {
  return parse_number(argument, least, most);
}
Result<std::string> as_it_is(const Argument& argument);
Result<std::string> not_empty(const Argument& argument);
Result<std::string> parse_fabric(const Argument& argument);
Result<plan::FabricProof> parse_fabric_proof(const Argument& argument);
Result<bool> off_switch(const Argument& argument);
// Returns the value if it is one of the words in the option's placeholder.
Result<std::string> one_of(const Flag& flag, const Argument& argument);
Result<std::string> parse_image_option(const Argument& argument);
Result<std::string> parse_workdir(const Argument& argument);
Result<std::string> parse_container_name(const Argument& argument);

Result<void> set_nodes(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_node_rank(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_ranks_per_node(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_standalone(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_order(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_topology(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> add_links(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_rendezvous_settings(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> add_variable(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> add_modules(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_grow(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> add_notify(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_on_hang(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_evict(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_hang_timeout(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_shutdown_timeout(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> set_log_dir(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> add_binds(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> add_container_variables(RunDraft& draft, const Flag& flag, const Argument& argument);
// Some options have no effect; these functions only check their values.
Result<void> check_interval(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> check_choice(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> check_event_log_handler(RunDraft& draft, const Flag& flag, const Argument& argument);
Result<void> refuse_plugin(RunDraft& draft, const Flag& flag, const Argument& argument);

}  // namespace toprun::options
