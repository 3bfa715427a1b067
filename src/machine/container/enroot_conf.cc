#include "machine/container/enroot_conf.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::container {
namespace {

namespace fs = std::filesystem;

bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::size_t name_length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_name_character) - text.begin());
}

class Expansion {
 public:
  explicit Expansion(const Environment& environment) : environment_(environment) {}

  Result<std::string> of(std::string_view text, int depth) const {
    if (depth > max_enroot_nesting) return fail("a value", "too many nested ${}");
    std::string out;
    while (!text.empty()) {
      const char c = text.front();
      if (c == '$') {
        auto value = TRY(dollar(text, depth));
        out += value;
        continue;
      }
      text.remove_prefix(1);
      if (c == '`')
        return fail("backticks",
                    "toprun does not run the commands between backticks in a variable's value");
      if (c != '"' && c != '\'') out += c;
    }
    return out;
  }

 private:
  // Removes the expression that begins with the dollar from the text.
  Result<std::string> dollar(std::string_view& text, int depth) const {
    constexpr std::string_view user_number = "$(id -u)";
    if (text.starts_with(user_number)) {
      text.remove_prefix(user_number.size());
      return environment_.get("UID").value_or("");
    }
    text.remove_prefix(1);
    if (text.starts_with('{')) {
      const std::size_t end = closing_brace(text.substr(1));
      if (end == text.npos) return fail("$" + printable(text), "it has no closing brace");
      const std::string_view inner = text.substr(1, end);
      text.remove_prefix(end + 2);
      return braces(inner, depth);
    }
    const std::size_t length = name_length(text);
    if (length == 0)
      return fail("$" + printable(text), "toprun does not know this form of a variable");
    const auto value = environment_.get(text.substr(0, length));
    text.remove_prefix(length);
    return value.value_or("");
  }

  Result<std::string> braces(std::string_view inner, int depth) const {
    const std::string_view name = inner.substr(0, name_length(inner));
    const std::string_view rest = inner.substr(name.size());
    const bool unless_empty = rest.starts_with(":-");
    if (name.empty() || !(rest.empty() || rest.starts_with('-') || unless_empty)) {
      return fail(fmt::format("${{{}}}", printable(inner)),
                  "toprun does not know this form of a variable");
    }
    const auto value = unless_empty ? environment_.non_empty(name) : environment_.get(name);
    if (value || rest.empty()) return value.value_or("");
    return of(rest.substr(unless_empty ? 2 : 1), depth + 1);
  }

  // The brace that closes the expression: braces nested inside it are skipped.
  static std::size_t closing_brace(std::string_view text) {
    int depth = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == '}' && --depth == 0) return i;
    }
    return text.npos;
  }

  const Environment& environment_;
};

std::vector<fs::path> files_of(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code trouble;
  for (fs::directory_iterator entry(root / "etc/enroot/enroot.conf.d", trouble), end;
       !trouble && entry != end && files.size() < max_enroot_conf_files; entry.increment(trouble)) {
    if (entry->path().extension() == ".conf") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  files.push_back(root / "etc/enroot/enroot.conf");
  return files;
}

}  // namespace

void parse_enroot_conf(std::string_view text, std::string_view label, EnrootConf& conf) {
  std::size_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    const std::string_view name = line.substr(0, line.find_first_of(" \t="));
    if (name.empty() || name_length(name) != name.size()) continue;
    std::string_view value = trim(line.substr(name.size()));
    if (value.starts_with('=')) value = trim(value.substr(1));
    if (const auto comment = value.find(" #"); comment != value.npos) {
      value = trim(value.substr(0, comment));
    }
    if (value.empty()) continue;
    conf.try_emplace(std::string(name), std::string(value), fmt::format("{}:{}", label, number));
  }
}

Result<std::string> expand_enroot(std::string_view value, const Environment& environment) {
  return Expansion(environment).of(value, 0);
}

SourcedPath enroot_data_path(const Environment& environment, const fs::path& root) {
  constexpr std::string_view name = "ENROOT_DATA_PATH";
  if (const auto set = environment.non_empty(name)) return {*set, std::string(name)};
  EnrootConf conf;
  for (const fs::path& file : files_of(root)) {
    const auto text = read_file(file, max_enroot_conf_bytes);
    if (text) parse_enroot_conf(*text, file.native(), conf);
  }
  // bash knows the user's number without the environment.
  Environment with = environment;
  for (const char* number : {"UID", "EUID"}) with.set(number, fmt::to_string(geteuid()));
  const auto home = environment.non_empty("HOME").value_or("");
  const auto data = environment.non_empty("XDG_DATA_HOME");
  if (const auto said = conf.find(name); said != conf.end()) {
    const auto path = expand_enroot(said->second.value, with);
    if (path && path->starts_with('/')) return {*path, said->second.origin};
  }
  return {data.value_or(home + "/.local/share") + "/enroot", data ? "XDG_DATA_HOME" : "HOME"};
}

}  // namespace toprun::container
