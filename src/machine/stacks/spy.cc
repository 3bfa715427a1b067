#include "machine/stacks/spy.h"

#include <fmt/format.h>

#include <climits>
#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/process/command.h"
#include "machine/stacks/python.h"

namespace toprun::stacks {
namespace {

using Json = nlohmann::json;

int number_in(const Json& object, const char* name) {
  return static_cast<int>(number_at(object, name, INT_MAX).value_or(0));
}

}  // namespace

Result<StacksByThread> parse_spy(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_array()) return fail("py-spy's answer is not a list of threads");
  StacksByThread out;
  for (const Json& thread : document) {
    if (!thread.is_object() || out.size() == most_python_threads) continue;
    const int id = number_in(thread, "os_thread_id");
    const Json& frames = member(thread, "frames");
    if (id == 0 || !frames.is_array()) continue;
    for (const Json& frame : frames) {
      if (!frame.is_object() || out[id].size() == most_frames) continue;
      out[id].push_back(
          {text_at(frame, "name"), text_at(frame, "filename"), number_in(frame, "line")});
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
