#include "machine/fabric/profile_script.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::fabric {
namespace {

constexpr std::size_t max_changes = 256;
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

bool is_the_shells(const std::string& name) {
  return std::ranges::find(of_the_shell, name) != of_the_shell.end();
}

}  // namespace

std::vector<ScriptChange> changes_between(const Environment& before, std::string_view env) {
  std::map<std::string, std::string> after;
  for (const std::string_view entry : split(env, '\0')) {
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    after.insert_or_assign(std::string(entry.substr(0, equals)),
                           std::string(entry.substr(equals + 1)));
  }
  std::vector<ScriptChange> changes;
  for (const auto& [name, value] : after) {
    if (is_the_shells(name) || before.get(name) == value) continue;
    changes.push_back({name, before.get(name), value});
  }
  for (const auto& [name, value] : before.variables()) {
    if (!is_the_shells(name) && !after.contains(name)) changes.push_back({name, value, {}});
  }
  std::ranges::sort(changes, {}, &ScriptChange::name);
  if (changes.size() > max_changes) changes.resize(max_changes);
  return changes;
}

Result<void> source_profile_script(NodeFabric& node) {
  if (node.profile == nullptr || node.profile->script.empty()) return {};
  const std::string script(node.profile->script);
  const auto refuse = [&](std::string why) {
    return fail(fmt::format("{} could not be sourced", script), std::move(why),
                fmt::format("--fabric off leaves {}'s variables to you", node.profile->name));
  };
  if (::access(script.c_str(), R_OK) != 0) return refuse(errno_text(errno));
  const Environment before = with_own_variables(node);
  const auto output =
      process::output_of({"bash", "-c", source_and_show, "bash", script}, before, script_limit);
  if (!output) return refuse(output.error()->why);
  node.script_changes = changes_between(before, *output);
  for (const ScriptChange& change : node.script_changes) {
    if (!change.after) continue;
    std::erase_if(node.profile_settings, [&](const ProfileSetting& known) {
      return known.name == change.name && !known.value.starts_with('+');
    });
    node.profile_settings.push_back({change.name, *change.after});
  }
  return {};
}

}  // namespace toprun::fabric
