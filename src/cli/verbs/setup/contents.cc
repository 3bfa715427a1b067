#include "cli/verbs/setup/contents.h"

#include "base/os/files.h"
#include "base/text/text.h"
#include "machine/container/prepare.h"

namespace toprun::cli {
namespace {

constexpr std::size_t longest_requirement_file_bytes = 1 << 20;

std::string_view name_of(setup::Horovod horovod) {
  switch (horovod) {
    case setup::Horovod::none:
      return "";
    case setup::Horovod::nccl:
      return "nccl";
    case setup::Horovod::gloo:
      return "gloo";
    case setup::Horovod::mpi:
      return "mpi";
  }
  return "";
}

// A file that changes is another one.
std::string image_source(const std::string& from) {
  return std::string(trim(fmt::format("{} {}", from, container::fingerprint(from))));
}

}  // namespace

std::vector<std::string> requirement_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view whole : toprun::split(text, '\n')) {
    std::string_view line = trim(whole);
    if (line.starts_with('#')) continue;
    line = trim(line.substr(0, line.find(" #")));
    if (!line.empty()) lines.push_back(setup::without_login(line));
  }
  return lines;
}

Result<std::vector<std::string>> contents_asked(const SetupOptions& options) {
  const setup::VenvRequest& requested = options.requested;
  std::vector<std::string> asked = {options.image_from.empty() ? "--venv" : "--container"};
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) asked.push_back(fmt::format("{}={}", option, value));
  };
  if (!options.image_from.empty()) asked.push_back(image_source(options.image_from));
  for (const std::string& package : requested.packages) {
    asked.push_back(setup::without_login(package));
  }
  for (const std::string& file : requested.requirement_files) {
    const auto text = TRY(read_file(file, longest_requirement_file_bytes));
    for (std::string& line : requirement_lines(text)) asked.push_back(std::move(line));
  }
  add("--python", requested.python);
  for (const std::string& module : options.activation.modules) add("--modules", module);
  add("--before", options.activation.before);
  if (requested.system_site_packages) asked.emplace_back("--system-site-packages");
  add("--horovod", std::string(name_of(requested.horovod)));
  add("--nccl-home", requested.nccl_home);
  return asked;
}

}  // namespace toprun::cli
