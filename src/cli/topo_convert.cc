#include "cli/topo_convert.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/topo_job.h"
#include "hosts/hostlist.h"
#include "placement/convert.h"

namespace toprun::cli {
namespace {

struct ConvertOptions {
  JobOptions job;
  std::string form;
};

Result<const placement::NetworkForm*> chosen_form(const std::string& name) {
  const auto forms = placement::network_forms();
  const auto found = std::ranges::find(forms, name, &placement::NetworkForm::name);
  if (found != forms.end()) return &*found;
  std::vector<std::string> names;
  for (const placement::NetworkForm& form : forms) names.emplace_back(form.name);
  const auto meant = did_you_mean(name, names);
  return usage(fmt::format("--to {}", name), "there is no such form",
               meant ? fmt::format("did you mean {}?", *meant)
                     : fmt::format("there are {}", join(names, ", ")));
}

Result<int> print_converted(const ConvertOptions& options, const Environment& environment) {
  const auto form = chosen_form(options.form);
  if (!form) return std::unexpected(form.error());
  auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto placed = placement::place(job->hosts, std::move(job->map));
  if (!placed) return std::unexpected(placed.error());
  const placement::Converted converted = (*form)->convert(*placed);
  const int code = print(converted.text);
  say_what_is_unknown(placed->source, placed->warnings);
  if (!converted.left_out.empty()) {
    say(fmt::format("left out, because too little is known of their places: {}",
                    hosts::compress_hostlist(converted.left_out)));
  }
  return code;
}

std::string form_names() {
  std::vector<std::string> names;
  for (const placement::NetworkForm& form : placement::network_forms()) {
    names.emplace_back(form.name);
  }
  return join(names, "|");
}

std::string footer() {
  std::string text = "Forms:\n";
  for (const placement::NetworkForm& form : placement::network_forms()) {
    text += fmt::format("  {:<15}{}\n", form.name, form.help);
  }
  return text +
         "Examples:\n"
         "  toprun topo convert --topology fabric.txt --to topology.conf > topology.conf\n"
         "  toprun topo convert --topology racks.txt --to labels | kubectl apply -f -";
}

}  // namespace

int run_topo_convert(const std::vector<std::string>& arguments, const Environment& environment) {
  ConvertOptions options;
  CLI::App app("The network as Slurm or Kubernetes describes one.", "toprun topo convert");
  add_job_options(app, options.job);
  app.add_option("--to", options.form, "one of the forms below")
      ->required()
      ->type_name(form_names());
  app.footer(footer());
  if (const auto code = parse(app, arguments)) return *code;
  if (const auto code = fill_as_launched(app, environment, job_flags)) return *code;
  const auto printed = print_converted(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
