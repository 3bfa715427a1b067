#include "agent/error_file.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"

namespace toprun::agent {

Result<std::string> error_file_for_launcher(const std::string& text, const WorkerExit& exit) {
  nlohmann::json json = json_in(text);
  if (!json.is_object()) return fail("the error file is not a JSON object");
  if (json.contains("message") && json["message"].is_object()) {
    json["message"]["errorCode"] = exit.signal != 0 ? -exit.signal : exit.exit_code;
  }
  return json_text(json);
}

Result<void> copy_error_file(const std::string& from, const WorkerExit& exit,
                             const std::string& to) {
  const std::string what = "cannot copy the error file to TORCHELASTIC_ERROR_FILE=" + to;
  const auto text = read_plain_file(from);
  if (!text) return fail(what, text.error().line());
  const auto json = error_file_for_launcher(*text, exit);
  if (!json) return fail(what, json.error().line());
  std::error_code ignored;
  std::filesystem::remove(to, ignored);
  std::ofstream file(to);
  file << *json;
  if (!file.flush()) return fail_errno(what);
  return {};
}

}  // namespace toprun::agent
