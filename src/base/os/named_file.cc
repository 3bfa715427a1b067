#include "base/os/named_file.h"

#include <unistd.h>

#include <system_error>

#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/trust.h"

namespace toprun {

namespace fs = std::filesystem;

bool is_special(const fs::path& path) {
  std::error_code error;
  const auto type = fs::status(path, error).type();
  return type == fs::file_type::fifo || type == fs::file_type::character ||
         type == fs::file_type::block || type == fs::file_type::socket;
}

Result<void> write_named_file(const fs::path& path, std::string_view content) {
  if (is_special(path)) return write_through(path, content);
  auto replaced = replace_file(path, content);
  std::error_code error;
  if (replaced || !fs::is_regular_file(path, error)) return replaced;
  return write_through(path, content);
}

Result<void> check_named_file(const fs::path& path) {
  std::error_code error;
  const std::string what = "cannot write " + path.string();
  if (fs::is_directory(path, error)) return fail(what, "it is a folder", "name a file");
  const fs::path parent = path.parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const bool is_replaced = fs::exists(path, error) && ::access(path.c_str(), W_OK) == 0;
  if (is_replaced || ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail_errno(what);
}

Result<void> write_and_say(const std::string& path, std::string_view content) {
  auto written = write_named_file(path, content);
  if (written) say("wrote " + path);
  return written;
}

}  // namespace toprun
