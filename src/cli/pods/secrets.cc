#include "cli/pods/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/text/secrets.h"
#include "cli/options/values.h"
#include "engines/kubernetes/object_name.h"

namespace toprun::pods {
namespace {

using engines::kubernetes::SecretVariable;
using nlohmann::ordered_json;
using options::Argument;

bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// Not even its beginning is shown: in NAME=VALUE the value is a secret.
Result<SecretVariable> parse_secret(const Argument& argument) {
  const std::size_t equals = argument.value.find('=');
  Argument of_name = argument;
  of_name.value = argument.value.substr(0, equals);
  const auto variable = options::parse_variable(of_name);
  if (!variable) {
    return usage(variable.error()->what, variable.error()->why,
                 "write NAME=SECRET:KEY, with letters, digits and _ in the name");
  }
  SecretVariable out{variable->first, {}, variable->first};
  if (equals == std::string::npos) return out;
  const std::string place = argument.value.substr(equals + 1);
  const std::size_t colon = place.find(':');
  out.secret = place.substr(0, colon);
  out.key = colon == std::string::npos ? "" : place.substr(colon + 1);
  if (engines::kubernetes::is_object_name(out.secret) && is_key(out.key)) return out;
  return usage(of_name.label() + "=…",
               colon == std::string::npos ? "names no key of a Secret" : "is not NAME=SECRET:KEY",
               fmt::format("write {0}=SECRET:KEY, with a Secret's name of a-z, 0-9, - and . and a "
                           "key of letters, digits, -, _ and .; or --secret-env {0} for a variable "
                           "of this environment",
                           out.name));
}

std::unexpected<Error> refuse(std::string what) {
  return usage(std::move(what), "users who can read the job's object could read a secret in it",
               "use --secret-env NAME and have the program read that variable");
}

Result<void> check_value(const ordered_json& value, const std::string& path);

Result<void> check_map(const ordered_json& value, const std::string& path) {
  const auto name = value.find("name");
  const auto text = value.find("value");
  const bool is_variable =
      name != value.end() && text != value.end() && name->is_string() && text->is_string();
  if (is_variable && holds_a_secret(name->get<std::string>(), text->get<std::string>())) {
    return refuse(fmt::format("{} {}", path, name->get<std::string>()));
  }
  for (const auto& [key, part] : value.items()) {
    const std::string below = path.empty() ? key : path + '.' + key;
    if (const auto done = check_value(part, below); !done) return done;
  }
  return {};
}

Result<void> check_list(const ordered_json& value, const std::string& path) {
  std::vector<std::string> words;
  for (const ordered_json& part : value) {
    if (part.is_string()) words.push_back(part.get<std::string>());
    if (part.is_string()) continue;
    if (const auto done = check_value(part, path); !done) return done;
  }
  const auto word = word_with_secret(words);
  return word ? refuse(fmt::format("{} {}", path, *word)) : Result<void>();
}

Result<void> check_value(const ordered_json& value, const std::string& path) {
  if (value.is_object()) return check_map(value, path);
  if (value.is_array()) return check_list(value, path);
  const bool is_secret = value.is_string() && has_secret_form(value.get<std::string>());
  return is_secret ? refuse(path) : Result<void>();
}

}  // namespace

Result<void> read_secrets(engines::kubernetes::Workload& job,
                          std::map<std::string, std::string>& values, const OptionReader& reader,
                          bool on_runai) {
  for (const Argument& argument : reader.all("--secret-env")) {
    auto one = TRY(parse_secret(argument));
    const auto known = std::ranges::find(job.secret_variables, one.name, &SecretVariable::name);
    const bool is_twice = known != job.secret_variables.end();
    if (is_twice) return usage("--secret-env " + one.name, "is given twice", "give it once");
    if (one.secret.empty() && !on_runai) {
      const auto value = reader.environment.non_empty(one.name);
      if (!value) {
        return usage("--secret-env " + one.name, "the variable is not set here",
                     fmt::format("export {0}, or name a Secret's key: --secret-env {0}=SECRET:KEY",
                                 one.name));
      }
      values[one.name] = *value;
    }
    job.secret_variables.push_back(std::move(one));
  }
  return {};
}

std::string fresh_secret_name() {
  std::random_device random;
  return fmt::format("toprun-env-{:08x}{:08x}", random(), random());
}

Result<void> check_object(const ordered_json& object) {
  return check_value(object, "");
}

}  // namespace toprun::pods
