#include "observe/report/convert.h"

#include <algorithm>
#include <filesystem>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/verbs/output_file.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/topo/job.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

// The format from --to or from the file's name.
std::string name_of_form(const Call& call) {
  if (const auto form = call.text(FlagId::form)) return *form;
  return std::filesystem::path(output_file(call).value_or("")).filename().string();
}

Result<const report::NetworkForm*> chosen_form(const Call& call) {
  const std::string name = name_of_form(call);
  const auto forms = report::network_forms();
  const auto found = std::ranges::find(forms, name, &report::NetworkForm::name);
  if (found != forms.end()) return &*found;
  std::vector<std::string> names;
  for (const report::NetworkForm& form : forms) names.emplace_back(form.name);
  const auto meant = did_you_mean(name, names);
  const std::string choices = fmt::format("choose one of: {}", join(names, ", "));
  if (!call.has(FlagId::form)) return usage("no format given", {}, "give --to FORM; " + choices);
  return usage(fmt::format("--to {}", name), "no format has this name",
               meant ? fmt::format("did you mean {}?", *meant) : choices);
}

}  // namespace

Result<int> run_topo_convert(const options::Call& call) {
  const auto form = TRY(chosen_form(call));
  auto job = TRY(find_job(call));
  const auto placed = TRY(placement::place(job.hosts, std::move(job.map)));
  const report::Converted converted = form->convert(placed);
  const auto written = TRY(put_out(call, converted.text));
  say_what_is_unknown(placed.source, placed.warnings);
  if (!converted.left_out.empty()) {
    say(
        fmt::format("the output does not contain these nodes, because too little is known about "
                    "their places in the network: {}",
                    hosts::compress_hostlist(converted.left_out)));
  }
  return written;
}

}  // namespace toprun::cli
