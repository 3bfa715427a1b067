#include "fabric/profile_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "process/command.h"

namespace toprun::fabric {
namespace {

constexpr std::size_t max_variables = 256;
constexpr std::array<std::string_view, 5> of_the_shell = {"_", "SHLVL", "PWD", "OLDPWD",
                                                          "BASH_EXECUTION_STRING"};
// Sends the script's output to stderr, because stdout is for the variables.
constexpr const char* source_and_show = R"(. "$1" >&2 && exec env -0)";

Environment with_own_variables(const NodeFabric& node) {
  Environment environment = node.environment;
  for (const ProfileSetting& setting : node.profile_settings) {
    if (setting.value.starts_with('+')) continue;
    if (!environment.has(setting.name)) environment.set(setting.name, setting.value);
  }
  return environment;
}

}  // namespace

std::vector<ProfileSetting> changed_variables(std::string_view env, const Environment& before) {
  std::vector<ProfileSetting> changed;
  for (const std::string_view entry : split(env, '\0')) {
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || changed.size() == max_variables) continue;
    const std::string name(entry.substr(0, equals));
    std::string value(entry.substr(equals + 1));
    const bool is_shells = std::ranges::find(of_the_shell, name) != of_the_shell.end();
    if (is_shells || before.get(name) == value) continue;
    changed.push_back({name, std::move(value)});
  }
  std::ranges::sort(changed, {}, &ProfileSetting::name);
  return changed;
}

Result<void> source_profile_script(NodeFabric& node) {
  if (node.profile == nullptr || node.profile->script.empty()) return {};
  const std::string script(node.profile->script);
  const Environment before = with_own_variables(node);
  const auto output =
      process::output_of({"bash", "-c", source_and_show, "bash", script}, before, script_limit);
  if (!output) {
    return fail(fmt::format("{} could not be sourced", script), output.error().line(),
                fmt::format("--fabric off leaves {}'s variables to you", node.profile->name));
  }
  for (ProfileSetting& setting : changed_variables(*output, before)) {
    std::erase_if(node.profile_settings, [&](const ProfileSetting& known) {
      return known.name == setting.name && !known.value.starts_with('+');
    });
    node.profile_settings.push_back(std::move(setting));
  }
  return {};
}

}  // namespace toprun::fabric
