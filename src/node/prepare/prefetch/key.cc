#include "node/prepare/prefetch/key.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/os/files.h"
#include "base/process/program.h"
#include "base/text/text.h"

namespace toprun::prefetch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t key_bytes = 16;
constexpr std::size_t most_cfg_bytes = 64u << 10;
constexpr std::size_t most_names = 100'000;  // in a folder; the rest does not count

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
    if (names.size() == most_names) break;
  }
  std::ranges::sort(names);
  return names;
}

// All that is known of an environment, as text.
class Description {
 public:
  void add(std::string_view what) {
    text_ += what;
    text_ += '\0';
  }
  // When it was changed last, and how large it is.
  void add_status(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return;
    add(fmt::format("{} {} {}.{}", path.string(), S_ISDIR(status.st_mode) ? 0 : status.st_size,
                    status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
  }
  void add_content(const fs::path& path) {
    const auto content = read_plain_file(path, most_cfg_bytes);
    if (content) add(*content);
  }
  void add_folder(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
    add_status(path);
    for (const std::string& name : names_in(path)) add(name);
  }

  std::string hash() const {
    unsigned char bytes[key_bytes];
    crypto_generichash(bytes, sizeof bytes, reinterpret_cast<const unsigned char*>(text_.data()),
                       text_.size(), nullptr, 0);
    std::string hex;
    for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
    return hex;
  }

 private:
  std::string text_;
};

// A prefix has lib/python3.11/site-packages; Debian's has lib/python3/dist-packages.
void add_prefix(Description& description, const fs::path& prefix) {
  description.add_content(prefix / "pyvenv.cfg");
  description.add_status(prefix / "conda-meta/history");
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const std::string& name : names_in(prefix / lib)) {
      if (!name.starts_with("python")) continue;
      description.add_folder(prefix / lib / name / "site-packages");
      description.add_folder(prefix / lib / name / "dist-packages");
    }
  }
}

}  // namespace

std::string key_of(const std::string& python, const Environment& environment,
                   const std::vector<std::string>& modules) {
  const auto found = process::find_program(python, environment);
  if (!found) return "";
  std::error_code error;
  const fs::path named = fs::absolute(*found, error).lexically_normal();
  const fs::path real = fs::canonical(named, error);
  if (error) return "";
  Description description;
  description.add("prefetch 1");
  for (const std::string& module : modules) description.add(module);
  description.add_status(named);
  description.add_status(real);
  const fs::path prefix = named.parent_path().parent_path();
  add_prefix(description, prefix);
  if (real.parent_path().parent_path() != prefix) {
    add_prefix(description, real.parent_path().parent_path());
  }
  for (const char* name : {"PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH"}) {
    description.add(fmt::format("{}={}", name, environment.get(name).value_or("")));
  }
  const std::string path = environment.get("PYTHONPATH").value_or("");
  // Others are the user's own folders, in which each run may write something.
  for (const std::string_view folder : split(path, ':')) {
    if (folder.ends_with("-packages")) description.add_folder(folder);
  }
  const auto home = environment.non_empty("HOME");
  if (home && !environment.has("PYTHONNOUSERSITE")) add_prefix(description, *home + "/.local");
  return description.hash();
}

}  // namespace toprun::prefetch
