#include "node/plan/setup/setup_record.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::setup {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view schema = "toprun.setup/1";
constexpr std::size_t longest_record_bytes = 1 << 20;
constexpr std::array<std::string_view, 4> state_names = {"submitted", "building", "complete",
                                                         "failed"};

struct TextField {
  const char* name;
  std::string Record::*member;
};
constexpr std::array text_fields = {
    TextField{"why", &Record::why},       TextField{"job", &Record::job},
    TextField{"host", &Record::host},     TextField{"begun", &Record::begun},
    TextField{"ended", &Record::ended},   TextField{"toprun", &Record::toprun},
    TextField{"os", &Record::os},         TextField{"architecture", &Record::architecture},
    TextField{"python", &Record::python}, TextField{"base_python", &Record::base_python},
};

std::unexpected<Error> broken(const std::string& label, std::string why) {
  return fail(label, std::move(why), "build the environment again: toprun setup --force");
}

Result<std::vector<std::string>> texts_in(const json& object, const char* name,
                                          const std::string& label) {
  std::vector<std::string> texts;
  const auto found = object.find(name);
  if (found == object.end()) return texts;
  if (!found->is_array()) return broken(label, fmt::format("\"{}\" is not a list", name));
  for (const json& text : *found) {
    if (!text.is_string())
      return broken(label, fmt::format("\"{}\" is not a list of strings", name));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

Result<State> state_in(const json& object, const std::string& label) {
  const auto found = std::ranges::find(state_names, text_at(object, "state"));
  if (found == state_names.end()) return broken(label, "toprun does not know its \"state\"");
  return static_cast<State>(found - state_names.begin());
}

// The name in a module with version: "cuda" of "cuda/12.4", "tools/gcc" of "tools/gcc/12".
std::string_view name_of(std::string_view module) {
  return module.substr(0, module.rfind('/'));
}

}  // namespace

std::string text_of(const Record& record) {
  nlohmann::ordered_json object = {{"schema", schema},
                                   {"state", state_names[static_cast<std::size_t>(record.state)]}};
  for (const TextField& field : text_fields) {
    if (!(record.*field.member).empty()) object[field.name] = record.*field.member;
  }
  object["modules"] = record.modules;
  object["packages"] = record.packages;
  if (!record.asked.empty()) object["asked"] = record.asked;
  object["imports"] = record.imports;
  return json_text(object, 2) + '\n';
}

Result<Record> parse_record(std::string_view text, const std::string& label) {
  const json object = json_in(text);
  if (!object.is_object() || object.value("schema", json()) != schema) {
    return broken(label, fmt::format("is not a record of toprun's ({})", schema));
  }
  Record record;
  record.state = TRY(state_in(object, label));
  for (const TextField& field : text_fields) {
    const auto found = object.find(field.name);
    if (found == object.end()) continue;
    if (!found->is_string())
      return broken(label, fmt::format("\"{}\" is not a string", field.name));
    record.*field.member = found->get<std::string>();
  }
  record.modules = TRY(texts_in(object, "modules", label));
  record.packages = TRY(texts_in(object, "packages", label));
  record.asked = TRY(texts_in(object, "asked", label));
  const auto imports = object.find("imports");
  if (imports == object.end()) return record;
  if (!imports->is_object()) return broken(label, "\"imports\" is not an object");
  for (const auto& [name, version] : imports->items()) {
    if (!version.is_string()) return broken(label, "\"imports\" has no texts");
    record.imports[name] = version.get<std::string>();
  }
  return record;
}

bool is_image(const fs::path& built) {
  return built.extension() == ".sif" || built.extension() == ".sqsh";
}

fs::path record_path(const fs::path& built) {
  if (!is_image(built)) return built / record_name;
  return fmt::format("{}.{}", built.string(), record_name);
}

Result<std::optional<Record>> read_record(const fs::path& built) {
  const fs::path path = record_path(built);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const auto text = TRY(read_plain_file(path, longest_record_bytes));
  auto record = TRY(parse_record(text, path.string()));
  return std::move(record);
}

Result<void> write_record(const fs::path& built, const Record& record) {
  return replace_file(record_path(built), text_of(record));
}

std::vector<std::string> loaded_modules(std::string_view variable) {
  std::vector<std::string> names;
  for (const std::string_view name : split(variable, ':')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

std::string module_differences(const std::vector<std::string>& built,
                               const std::vector<std::string>& loaded) {
  const auto has = [](const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
  };
  const auto has_name = [](const std::vector<std::string>& list, std::string_view module) {
    return std::ranges::find(list, name_of(module), name_of);
  };
  std::vector<std::string> differences;
  for (const std::string& module : built) {
    if (has(loaded, module)) continue;
    const auto other = has_name(loaded, module);
    differences.push_back(other == loaded.end() ? "without " + module
                                                : fmt::format("{} instead of {}", *other, module));
  }
  for (const std::string& module : loaded) {
    if (!has(built, module) && has_name(built, module) == built.end()) {
      differences.push_back(module + " besides");
    }
  }
  return join(differences, ", ");
}

std::string contents_differences(const std::vector<std::string>& built,
                                 const std::vector<std::string>& requested) {
  const auto lacks = [](const std::vector<std::string>& list, const std::string& word) {
    return std::ranges::find(list, word) == list.end();
  };
  std::vector<std::string> unnamed;
  std::vector<std::string> absent;
  for (const std::string& word : built) {
    if (lacks(requested, word)) unnamed.push_back(word);
  }
  for (const std::string& word : requested) {
    if (lacks(built, word)) absent.push_back(word);
  }
  const std::string before = join(unnamed, ", ");
  const std::string now = join(absent, ", ");
  if (before.empty() && now.empty()) return {};
  if (now.empty()) return fmt::format("its setup was also asked for {}", before);
  if (before.empty()) return fmt::format("this command line also asks for {}", now);
  return fmt::format("its setup was asked for {}, and this command line asks for {}", before, now);
}

std::string state_words(const Record& record) {
  const std::string who =
      record.job.empty() ? "its setup" : fmt::format("its setup, job {},", record.job);
  switch (record.state) {
    case State::submitted:
      return fmt::format("{} has not begun", who);
    case State::building:
      return fmt::format("{} on {} since {} has not ended, or was ended in the middle", who,
                         record.host, record.begun);
    case State::failed:
      return fmt::format("{} failed: {}", who, record.why);
    case State::complete:
      break;
  }
  return fmt::format("{} ended with success", who);
}

Result<void> check_usable(const Record& record, const std::string& what,
                          std::string_view architecture) {
  if (record.state != State::complete) {
    return fail(
        what, "the environment is incomplete: " + state_words(record),
        record.job.empty() || record.state == State::failed
            ? "build the environment again with `toprun setup`"
            : fmt::format(
                  "see `toprun status {}`; `toprun submit --after setup` waits for the setup",
                  record.job));
  }
  if (record.architecture.empty() || record.architecture == architecture) return {};
  return fail(what,
              fmt::format("the environment was built for {} (on {}), but this node is {}",
                          record.architecture, record.host, architecture),
              "build an environment on a node like this one with `toprun setup`");
}

}  // namespace toprun::setup
