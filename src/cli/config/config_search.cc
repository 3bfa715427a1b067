#include "cli/config/config_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/trust.h"

namespace toprun::config {
namespace {

namespace fs = std::filesystem;
using State = ConfigPlaceLooked::State;

// A path in a folder without search permission counts as missing.
bool is_there(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// A file that no option named, and the reason for not reading it; an empty reason means that it is
// read.
struct Found {
  Fd file;
  std::string why;
};

Found open_found(const fs::path& path) {
  const auto target = follow_own_links(path, ::geteuid());
  if (!target) return {{}, target.error().line()};
  // O_NONBLOCK, so that a pipe does not block.
  Found found{Fd(::open(target->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)), {}};
  struct stat status {};
  if (!found.file || ::fstat(found.file.get(), &status) != 0) {
    found.why = fmt::format("it cannot be read ({})", errno_text(errno));
  } else {
    found.why =
        S_ISREG(status.st_mode) ? distrust(status, ::geteuid()) : "it is not a regular file";
  }
  return found;
}

class Search {
 public:
  explicit Search(const Environment& environment)
      : home_(environment.non_empty("HOME").value_or("")) {}

  Result<void> read(std::string_view kind, const fs::path& path, const std::string& label) {
    const bool is_chosen = kind == "chosen";
    config_.looked.push_back({kind, path.string()});
    if (path.empty() || (!is_chosen && !is_there(path))) return {};
    // A file that the user names may be a pipe, and then the open waits for its writer.
    Found found =
        is_chosen ? Found{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), {}} : open_found(path);
    if (!found.why.empty()) {
      config_.looked.back().state = State::ignored;
      config_.looked.back().why = std::move(found.why);
      return {};
    }
    const auto text = read_open_file(found.file, label, max_config_bytes);
    if (!text) {
      return usage(text.error()->what, text.error()->why,
                   is_chosen ? "check the path" : "--no-config ignores the file");
    }
    auto parsed = TRY(parse_config(*text, {label, path.parent_path().string(), home_}));
    struct stat status {};
    if (::fstat(found.file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
      parsed.mode = status.st_mode & 0777u;
    }
    config_.looked.back().state = State::read;
    config_.files.push_back(std::move(parsed));
    return {};
  }
  Config take() { return std::move(config_); }
  const std::string& home() const { return home_; }

 private:
  const std::string home_;
  Config config_;
};

// The device number of the folder's file system; nullopt: unknown.
std::optional<dev_t> device_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return status.st_dev;
}

// A project is on one file system, so the search stops at its mount point. Above, there may be an
// automounter, which would try to mount something with the file's name and query the site's
// servers.
fs::path project_path(const fs::path& from) {
  const auto device = device_of(from);
  for (fs::path folder = from; device && device_of(folder) == device;
       folder = folder.parent_path()) {
    const fs::path path = folder / config_name;
    if (is_there(path)) return path;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

// By the XDG Base Directory Specification, a relative path is ignored.
fs::path user_path(const Environment& environment, const std::string& home) {
  fs::path folder = environment.get("XDG_CONFIG_HOME").value_or("");
  if (folder.is_relative() && home.empty()) return {};
  if (folder.is_relative()) folder = fs::path(home) / ".config";
  return folder / "toprun" / config_name;
}

// Prevents the path from looking like an option in a message.
std::string label_of(const std::string& argument) {
  return argument.starts_with('-') ? "./" + argument : argument;
}

}  // namespace

Result<Config> find_config(const std::optional<options::Argument>& chosen,
                           const Environment& environment) {
  std::error_code error;
  const fs::path here = fs::current_path(error);  // empty if the folder has been removed
  Search search(environment);
  if (chosen) {
    const fs::path path = (here / chosen->value).lexically_normal();
    TRY(search.read("chosen", path, label_of(chosen->value)));
    return search.take();
  }
  const fs::path project = project_path(here);
  const fs::path user = user_path(environment, search.home());
  const fs::path system = system_config;
  const bool is_own = project != user && project != system;
  Result<void> read;
  if (is_own) {
    const bool in_sight = project.parent_path() == here;
    read = search.read("project", project, in_sight ? std::string(config_name) : project.string());
  }
  if (read) read = search.read("user", user, user.string());
  if (read) read = search.read("system", system, system.string());
  if (!read) return std::unexpected(std::move(read.error()));
  return search.take();
}

Result<void> refuse_wrong_keys(const Config& config) {
  std::vector<Error> errors;
  for (const ConfigFile& file : config.files)
    std::ranges::copy(file.errors, std::back_inserter(errors));
  if (errors.empty()) return {};
  const Error last = std::move(errors.back());
  errors.pop_back();
  for (const Error& error : errors) say(error.line());
  return std::unexpected(last);
}

}  // namespace toprun::config
