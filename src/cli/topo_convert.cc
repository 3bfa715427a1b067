#include "cli/topo_convert.h"

#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/files.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/topo_job.h"
#include "hosts/hostlist.h"
#include "placement/convert.h"

namespace toprun::cli {
namespace {

struct ConvertOptions {
  JobOptions job;
  std::optional<std::string> form;
  std::optional<std::string> file;
};

// --to, or what the file's name says.
std::string name_of_form(const ConvertOptions& options) {
  if (options.form) return *options.form;
  return options.file ? std::filesystem::path(*options.file).filename().string() : "";
}

Result<const placement::NetworkForm*> chosen_form(const ConvertOptions& options) {
  const std::string name = name_of_form(options);
  const auto forms = placement::network_forms();
  const auto found = std::ranges::find(forms, name, &placement::NetworkForm::name);
  if (found != forms.end()) return &*found;
  std::vector<std::string> names;
  for (const placement::NetworkForm& form : forms) names.emplace_back(form.name);
  const auto meant = did_you_mean(name, names);
  const std::string there_are = fmt::format("there are {}", join(names, ", "));
  if (!options.form) return usage("no form given", {}, "give --to FORM: " + there_are);
  return usage(fmt::format("--to {}", name), "there is no such form",
               meant ? fmt::format("did you mean {}?", *meant) : there_are);
}

// To the file or to stdout; the exit code.
Result<int> write(const ConvertOptions& options, const std::string& text) {
  if (!options.file) return print(text);
  if (auto done = replace_file(*options.file, text); !done) return std::unexpected(done.error());
  return 0;
}

Result<int> print_converted(const ConvertOptions& options, const Environment& environment) {
  const auto form = chosen_form(options);
  if (!form) return std::unexpected(form.error());
  auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto placed = placement::place(job->hosts, std::move(job->map));
  if (!placed) return std::unexpected(placed.error());
  const placement::Converted converted = (*form)->convert(*placed);
  const auto written = write(options, converted.text);
  if (!written) return std::unexpected(written.error());
  say_what_is_unknown(placed->source, placed->warnings);
  if (!converted.left_out.empty()) {
    say(fmt::format("left out, because too little is known of their places: {}",
                    hosts::compress_hostlist(converted.left_out)));
  }
  return *written;
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
         "  toprun topo convert --topology fabric.txt -o topology.conf\n"
         "  toprun topo convert --topology racks.txt --to labels | kubectl apply -f -";
}

}  // namespace

int run_topo_convert(const std::vector<std::string>& arguments, const Environment& environment) {
  ConvertOptions options;
  CLI::App app("The network as Slurm or Kubernetes describes one.", "toprun topo convert");
  add_job_options(app, options.job);
  app.add_option("--to", options.form, "one of the forms below; else the one of -o's name")
      ->type_name(form_names());
  app.add_option("-o,--output", options.file, "a file; else stdout")->type_name("FILE");
  app.footer(footer());
  if (const auto code = parse(app, arguments)) return *code;
  if (const auto code = fill_as_launched(app, environment, job_flags)) return *code;
  const auto printed = print_converted(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
