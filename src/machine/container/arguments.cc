#include "machine/container/arguments.h"

#include <fmt/format.h>

#include "base/text/secrets.h"

namespace toprun::container {
namespace {

std::string quoted(const std::string& value) {
  std::string out;
  for (const char c : value) out.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", out);
}

}  // namespace

std::string variable_word(const std::string& name, const std::string& value,
                          Environment& environment) {
  if (holds_a_secret(name, value)) environment.set(name, value);
  return environment.get(name) == value ? name : fmt::format("{}={}", name, value);
}

std::string colon_form(const Bind& bind) {
  return fmt::format("{}:{}{}", bind.source, bind.target, bind.read_only ? ":ro" : "");
}

bool needs_mount_form(const Bind& bind) {
  return (bind.source + bind.target).find_first_of(":,\"") != std::string::npos;
}

std::string mount_form(const Bind& bind) {
  return fmt::format("type=bind,{},{}{}", quoted("source=" + bind.source),
                     quoted("destination=" + bind.target), bind.read_only ? ",ro" : "");
}

}  // namespace toprun::container
