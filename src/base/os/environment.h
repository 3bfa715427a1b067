#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// A process environment as a value, so that functions that read it can be pure.
class Environment {
 public:
  Environment() = default;
  Environment(std::initializer_list<std::pair<const std::string, std::string>> variables)
      : variables_(variables) {}

  // Converts envp. Skips entries without "="; if a name occurs twice, the first entry counts, like
  // in getenv(3).
  static Environment from(const char* const* envp);

  bool has(std::string_view name) const { return variables_.contains(name); }
  std::optional<std::string> get(std::string_view name) const;
  // Returns the variable's value; nullopt if the variable is unset or empty.
  std::optional<std::string> non_empty(std::string_view name) const;
  void set(std::string name, std::string value) { variables_[std::move(name)] = std::move(value); }
  void unset(std::string_view name);

  const std::map<std::string, std::string, std::less<>>& variables() const { return variables_; }
  // Returns "NAME=VALUE" for each variable, the form for execve(2).
  std::vector<std::string> entries() const;

 private:
  std::map<std::string, std::string, std::less<>> variables_;
};

}  // namespace toprun
