#include "machine/fabric/nccl_conf.h"

#include <algorithm>

#include "base/text/text.h"

namespace toprun::fabric {
namespace {

constexpr std::size_t max_variables = 256;

std::string below_root(std::string path) {
  return path.erase(0, path.find_first_not_of('/'));
}

}  // namespace

std::vector<FileSetting> parse_nccl_conf(std::string_view text, const std::string& file) {
  std::vector<FileSetting> settings;
  for (const std::string_view line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) continue;
    const std::string name(trim(line.substr(0, equals)));
    if (name.empty() || settings.size() == max_variables) continue;
    settings.push_back({name, std::string(trim(line.substr(equals + 1))), file});
  }
  return settings;
}

std::vector<FileSetting> read_nccl_conf(const Sysfs& sysfs, const Environment& environment) {
  std::vector<std::string> files;
  if (const auto named = environment.non_empty("NCCL_CONF_FILE")) {
    files.push_back(*named);
  } else if (const auto home = environment.non_empty("HOME")) {
    files.push_back(*home + "/.nccl.conf");
  }
  files.emplace_back("/etc/nccl.conf");
  std::vector<FileSetting> settings;
  for (const std::string& file : files) {
    const auto text = sysfs.text(below_root(file));
    if (!text) continue;
    for (FileSetting& setting : parse_nccl_conf(*text, file)) {
      const bool is_new =
          std::ranges::find(settings, setting.name, &FileSetting::name) == settings.end();
      if (is_new) settings.push_back(std::move(setting));
    }
  }
  return settings;
}

}  // namespace toprun::fabric
