#include "cli/options/run_draft.h"

#include <algorithm>

#include "base/text/text.h"
#include "decide/topology/files/file.h"
#include "decide/topology/source.h"
#include "engines/mpi/slots.h"
#include "machine/fabric/profiles.h"

namespace toprun::options {

constexpr int min_hang_s = 2;                  // a look at the ranks every half second, and some
constexpr int max_shutdown_s = 7 * 24 * 3600;  // agents exchange it in milliseconds

Result<std::string> as_it_is(const Argument& argument) {
  return argument.value;
}

Result<std::string> not_empty(const Argument& argument) {
  if (!argument.value.empty()) return argument.value;
  return usage(argument.label(), "must not be empty");
}

Result<bool> off_switch(const Argument& argument) {
  auto on = parse_switch(argument);
  if (on) *on = !*on;
  return on;
}

Result<std::string> one_of(const Flag& flag, const Argument& argument) {
  return parse_choice(argument, choices(flag));
}

Result<void> set_nodes(RunDraft& draft, const Flag&, const Argument& argument) {
  const auto count = TRY(parse_node_count(argument));
  draft.options.nnodes = {count.most, argument.source};
  if (count.least < count.most) draft.options.min_nodes = count.least;
  return {};
}

Result<void> set_node_rank(RunDraft& draft, const Flag& flag, const Argument& argument) {
  using plan::Options;
  constexpr auto rank = number<0, max_nodes - 1>;
  return argument.from_variable ? put<&Options::node_index, rank>(draft, flag, argument)
                                : put<&Options::node_rank, rank>(draft, flag, argument);
}

Result<void> set_ranks_per_node(RunDraft& draft, const Flag&, const Argument& argument) {
  const auto count = TRY(parse_number(argument, 1, engines::max_slots));
  draft.options.nproc_per_node = {fmt::to_string(count), argument.source};
  return {};
}

Result<void> set_standalone(RunDraft& draft, const Flag& flag, const Argument& argument) {
  draft.standalone_source = argument.source;
  return put<&plan::Options::standalone, parse_switch>(draft, flag, argument);
}

Result<void> set_order(RunDraft& draft, const Flag&, const Argument& argument) {
  const auto choice = TRY(parse_order(argument));
  draft.options.order = choice.order;
  draft.options.order_file = choice.file;
  return {};
}

Result<std::string> parse_fabric(const Argument& argument) {
  if (argument.value == "auto" || argument.value == "off") return argument.value;
  if (fabric::find_profile(argument.value) != nullptr) return argument.value;
  std::vector<std::string> names = {"auto", "off"};
  for (const fabric::Profile& profile : fabric::profiles()) names.emplace_back(profile.name);
  const auto meant = did_you_mean(argument.value, names);
  return usage(argument.label(), "there is no fabric with this name",
               meant ? fmt::format("did you mean {}?", *meant)
                     : fmt::format("choose one of: {}", join(names, ", ")));
}

Result<plan::FabricProof> parse_fabric_proof(const Argument& argument) {
  if (argument.value == "auto") return plan::FabricProof::automatic;
  if (argument.value == "on") return plan::FabricProof::on;
  if (argument.value == "off") return plan::FabricProof::off;
  return usage(argument.label(), "must be auto, on or off", {});
}

Result<void> set_topology(RunDraft& draft, const Flag&, const Argument& argument) {
  const std::string path = topology::topology_file(argument.value).path;
  const bool is_pipe = path == "-" || path.starts_with("/dev/");
  if (!topology::names_source(argument.value) && is_pipe) {
    return usage(argument.label(),
                 "a launch reads the topology several times, and this input can be read only once",
                 "save the topology in a file");
  }
  if (!topology::names_source(argument.value) && !draft.is_file(path)) {
    return usage(argument.label(), "it is neither a file nor the name of a topology source",
                 fmt::format("the sources are {}", fmt::join(topology::source_names(), ", ")));
  }
  draft.options.topology = argument.value;
  return {};
}

Result<void> add_links(RunDraft& draft, const Flag&, const Argument& argument) {
  auto text = TRY(not_empty(argument));
  draft.plan.links.push_back(std::move(text));
  return {};
}

Result<void> set_rendezvous_settings(RunDraft& draft, const Flag&, const Argument& argument) {
  draft.rendezvous_settings = argument;
  return {};
}

Result<void> add_variable(RunDraft& draft, const Flag&, const Argument& argument) {
  auto variable = TRY(parse_variable(argument));
  draft.options.activation.variables.push_back(std::move(variable));
  return {};
}

Result<void> add_modules(RunDraft& draft, const Flag&, const Argument& argument) {
  auto names = TRY(parse_modules(argument));
  std::ranges::move(names, std::back_inserter(draft.options.activation.modules));
  return {};
}

Result<void> set_grow(RunDraft& draft, const Flag& flag, const Argument& argument) {
  const auto chosen = TRY(one_of(flag, argument));
  for (const run::Grow grow : {run::Grow::at_restart, run::Grow::now, run::Grow::on_signal}) {
    if (run::name_of(grow) == chosen) draft.options.grow = grow;
  }
  return {};
}

Result<void> add_notify(RunDraft& draft, const Flag&, const Argument& argument) {
  auto target = TRY(not_empty(argument));
  const std::string_view scheme = std::string_view(target).substr(0, target.find("://"));
  const bool is_url = scheme.size() < target.size() && scheme.find_first_of(" /") == scheme.npos;
  if (is_url && scheme != "http" && scheme != "https") {
    return usage(fmt::format("{} {}://…", argument.source, printable(std::string(scheme))),
                 "a URL for notifications begins with http:// or https://",
                 "give such a URL, or a command");
  }
  draft.options.notify.push_back(std::move(target));
  return {};
}

Result<void> set_on_hang(RunDraft& draft, const Flag& flag, const Argument& argument) {
  const auto chosen = TRY(one_of(flag, argument));
  draft.options.on_hang = chosen == "restart" ? run::OnHang::restart
                          : chosen == "abort" ? run::OnHang::abort
                                              : run::OnHang::report;
  return {};
}

Result<void> set_evict(RunDraft& draft, const Flag& flag, const Argument& argument) {
  draft.options.evicts = TRY(one_of(flag, argument)) == "auto";
  return {};
}

Result<void> set_hang_timeout(RunDraft& draft, const Flag&, const Argument& argument) {
  const auto seconds = TRY(parse_number(argument, min_hang_s, max_shutdown_s, " of seconds"));
  draft.options.hang_timeout = std::chrono::seconds(seconds);
  return {};
}

Result<void> set_shutdown_timeout(RunDraft& draft, const Flag&, const Argument& argument) {
  const auto seconds = TRY(parse_number(argument, 0, max_shutdown_s, " of seconds"));
  draft.options.shutdown_timeout = std::chrono::seconds(seconds);
  return {};
}

Result<void> set_log_dir(RunDraft& draft, const Flag&, const Argument& argument) {
  draft.keeps_no_logs = argument.value == null_device;
  if (!argument.value.empty() && !draft.keeps_no_logs) draft.options.log_dir = argument.value;
  return {};
}

Result<void> check_interval(RunDraft&, const Flag&, const Argument& argument) {
  if (const auto seconds = parse_double(argument.value); seconds && *seconds >= 0) return {};
  return usage(argument.label(), "must be a number of seconds, at least 0");
}

Result<void> check_choice(RunDraft&, const Flag& flag, const Argument& argument) {
  const auto chosen = one_of(flag, argument);
  return chosen ? Result<void>() : std::unexpected(chosen.error());
}

// torchrun has two handlers of its own; any other value names a plug-in.
Result<void> check_event_log_handler(RunDraft& draft, const Flag& flag, const Argument& argument) {
  const auto own = choices(flag);
  return std::ranges::find(own, argument.value) == own.end() ? refuse_plugin(draft, flag, argument)
                                                             : Result<void>();
}

Result<void> refuse_plugin(RunDraft&, const Flag& flag, const Argument& argument) {
  return usage(argument.label(), "toprun does not load Python code as torchrun does",
               fmt::format("leave it out: {}", flag.help));
}

}  // namespace toprun::options
