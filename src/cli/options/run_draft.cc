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

Result<std::string> as_it_is(const Given& given) {
  return given.value;
}

Result<std::string> not_empty(const Given& given) {
  if (!given.value.empty()) return given.value;
  return usage(given.label(), "must not be empty");
}

Result<bool> off_switch(const Given& given) {
  auto on = parse_switch(given);
  if (on) *on = !*on;
  return on;
}

Result<std::string> one_of(const Flag& flag, const Given& given) {
  return parse_choice(given, choices(flag));
}

Result<void> set_nodes(RunDraft& draft, const Flag&, const Given& given) {
  const auto count = TRY(parse_node_count(given));
  draft.options.nnodes = {count.most, given.source};
  if (count.least < count.most) draft.options.min_nodes = count.least;
  return {};
}

Result<void> set_node_rank(RunDraft& draft, const Flag& flag, const Given& given) {
  using plan::Options;
  constexpr auto rank = number<0, max_nodes - 1>;
  return given.from_variable ? put<&Options::node_index, rank>(draft, flag, given)
                             : put<&Options::node_rank, rank>(draft, flag, given);
}

Result<void> set_ranks_per_node(RunDraft& draft, const Flag&, const Given& given) {
  const auto count = TRY(parse_number(given, 1, engines::max_slots));
  draft.options.nproc_per_node = {fmt::to_string(count), given.source};
  return {};
}

Result<void> set_standalone(RunDraft& draft, const Flag& flag, const Given& given) {
  draft.standalone_source = given.source;
  return put<&plan::Options::standalone, parse_switch>(draft, flag, given);
}

Result<void> set_order(RunDraft& draft, const Flag&, const Given& given) {
  const auto choice = TRY(parse_order(given));
  draft.options.order = choice.order;
  draft.options.order_file = choice.file;
  return {};
}

Result<std::string> parse_fabric(const Given& given) {
  if (given.value == "auto" || given.value == "off") return given.value;
  if (fabric::find_profile(given.value) != nullptr) return given.value;
  std::vector<std::string> names = {"auto", "off"};
  for (const fabric::Profile& profile : fabric::profiles()) names.emplace_back(profile.name);
  const auto meant = did_you_mean(given.value, names);
  return usage(given.label(), "no such fabric",
               meant ? fmt::format("did you mean {}?", *meant)
                     : fmt::format("it is one of {}", join(names, ", ")));
}

Result<plan::FabricProof> parse_fabric_proof(const Given& given) {
  if (given.value == "auto") return plan::FabricProof::automatic;
  if (given.value == "on") return plan::FabricProof::on;
  if (given.value == "off") return plan::FabricProof::off;
  return usage(given.label(), "must be auto, on or off", {});
}

Result<void> set_topology(RunDraft& draft, const Flag&, const Given& given) {
  const std::string path = topology::topology_file(given.value).path;
  const bool is_pipe = path == "-" || path.starts_with("/dev/");
  if (!topology::names_source(given.value) && is_pipe) {
    return usage(given.label(),
                 "a launch reads it on the node that orders the others, not only once",
                 "save it in a file");
  }
  if (!topology::names_source(given.value) && !draft.is_file(path)) {
    return usage(given.label(), "it is not a file, and not a source of topology",
                 fmt::format("the sources are {}", fmt::join(topology::source_names(), ", ")));
  }
  draft.options.topology = given.value;
  return {};
}

Result<void> add_links(RunDraft& draft, const Flag&, const Given& given) {
  auto text = TRY(not_empty(given));
  draft.plan.links.push_back(std::move(text));
  return {};
}

Result<void> set_rendezvous_settings(RunDraft& draft, const Flag&, const Given& given) {
  draft.rendezvous_settings = given;
  return {};
}

Result<void> add_variable(RunDraft& draft, const Flag&, const Given& given) {
  auto variable = TRY(parse_variable(given));
  draft.options.activation.variables.push_back(std::move(variable));
  return {};
}

Result<void> add_modules(RunDraft& draft, const Flag&, const Given& given) {
  auto names = TRY(parse_modules(given));
  std::ranges::move(names, std::back_inserter(draft.options.activation.modules));
  return {};
}

Result<void> set_grow(RunDraft& draft, const Flag& flag, const Given& given) {
  const auto chosen = TRY(one_of(flag, given));
  for (const run::Grow grow : {run::Grow::at_restart, run::Grow::now, run::Grow::on_signal}) {
    if (run::name_of(grow) == chosen) draft.options.grow = grow;
  }
  return {};
}

Result<void> add_notify(RunDraft& draft, const Flag&, const Given& given) {
  auto target = TRY(not_empty(given));
  draft.options.notify.push_back(std::move(target));
  return {};
}

Result<void> set_on_hang(RunDraft& draft, const Flag& flag, const Given& given) {
  const auto chosen = TRY(one_of(flag, given));
  draft.options.on_hang = chosen == "restart" ? run::OnHang::restart
                          : chosen == "abort" ? run::OnHang::abort
                                              : run::OnHang::report;
  return {};
}

Result<void> set_hang_timeout(RunDraft& draft, const Flag&, const Given& given) {
  const auto seconds = TRY(parse_number(given, min_hang_s, max_shutdown_s));
  draft.options.hang_timeout = std::chrono::seconds(seconds);
  return {};
}

Result<void> set_shutdown_timeout(RunDraft& draft, const Flag&, const Given& given) {
  const auto seconds = TRY(parse_number(given, 0, max_shutdown_s));
  draft.options.shutdown_timeout = std::chrono::seconds(seconds);
  return {};
}

Result<void> set_log_dir(RunDraft& draft, const Flag&, const Given& given) {
  draft.keeps_no_logs = given.value == null_device;
  if (!given.value.empty() && !draft.keeps_no_logs) draft.options.log_dir = given.value;
  return {};
}

Result<void> check_interval(RunDraft&, const Flag&, const Given& given) {
  if (const auto seconds = parse_double(given.value); seconds && *seconds >= 0) return {};
  return usage(given.label(), "must be a number of seconds");
}

Result<void> check_choice(RunDraft&, const Flag& flag, const Given& given) {
  const auto chosen = one_of(flag, given);
  return chosen ? Result<void>() : std::unexpected(chosen.error());
}

// torchrun has two handlers of its own; any other value names a plug-in.
Result<void> check_event_log_handler(RunDraft& draft, const Flag& flag, const Given& given) {
  const auto own = choices(flag);
  return std::ranges::find(own, given.value) == own.end() ? refuse_plugin(draft, flag, given)
                                                          : Result<void>();
}

Result<void> refuse_plugin(RunDraft&, const Flag& flag, const Given& given) {
  return usage(given.label(), "names Python code for torchrun to load, which toprun does not do",
               fmt::format("leave it out: {}", flag.help));
}

}  // namespace toprun::options
