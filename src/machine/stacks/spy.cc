#include "machine/stacks/spy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/process/command.h"
#include "machine/stacks/python.h"

namespace toprun::stacks {
namespace {

using Json = nlohmann::json;

std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}

}  // namespace

Result<StacksByThread> parse_spy(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_array()) return fail("py-spy's answer is not a list of threads");
  StacksByThread out;
  for (const Json& thread : document) {
    if (!thread.is_object() || out.size() == most_python_threads) continue;
    const int id = number_in(thread, "os_thread_id");
    const auto frames = thread.find("frames");
    if (id == 0 || frames == thread.end() || !frames->is_array()) continue;
    for (const Json& frame : *frames) {
      if (!frame.is_object() || out[id].size() == most_frames) continue;
      out[id].push_back(
          {text_in(frame, "name"), text_in(frame, "filename"), number_in(frame, "line")});
    }
  }
  return out;
}

Result<StacksByThread> ask_spy(pid_t pid, const Environment& environment,
                               std::chrono::milliseconds limit) {
  const auto answer = TRY(process::output_of(
      {"py-spy", "dump", "--nonblocking", "--json", "--pid", fmt::format("{}", pid)}, environment,
      limit));
  return parse_spy(answer);
}

}  // namespace toprun::stacks
