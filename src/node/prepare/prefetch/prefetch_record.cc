#include "node/prepare/prefetch/prefetch_record.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <climits>

#include "base/os/files.h"
#include "base/os/trust.h"
#include "base/process/command.h"
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

constexpr std::string_view first_line = "toprun prefetch 1";

// Devices and the kernel's own files are nothing that an import needs early.
bool is_fit(std::string_view path) {
  if (!path.starts_with('/') || path.size() >= PATH_MAX || path.find('\0') != path.npos) {
    return false;
  }
  for (const std::string_view folder : {"/proc/", "/sys/", "/dev/"}) {
    if (path.starts_with(folder)) return false;
  }
  return path.find("/../") == path.npos && !path.ends_with("/..");
}

// The text up to the first blank, which is cut off it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::uint64_t> take_size(std::string_view& line) {
  const auto number = parse_int(take_word(line));
  if (!number || *number < 0 || std::cmp_greater(*number, largest_file)) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// False: the line is malformed.
bool take_line(std::string_view line, Record& record, std::uint64_t& bytes) {
  const std::string_view kind = take_word(line);
  Range range;
  if (kind == "packages") {
    const auto changed = parse_int(take_word(line));
    if (!changed || !is_fit(line)) return false;
    record.packages.push_back({std::string(line), *changed});
    return true;
  }
  if (kind == "part") {
    const auto offset = take_size(line);
    const auto length = offset ? take_size(line) : std::nullopt;
    if (!length) return false;
    range = {*offset, *length};
    bytes += range.length;
  } else if (kind != "whole" && kind != "look") {
    return false;
  }
  if (!is_fit(line) || bytes > most_bytes) return false;
  using enum Entry::Kind;
  record.entries.push_back({kind == "part"    ? part
                            : kind == "whole" ? whole
                                              : looked_at,
                            std::string(line), range});
  return true;
}

constexpr const char* ending = ".files";

// A missing one is fine.
Result<void> check_own_folder(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("cannot look at " + folder.string());
  }
  if (!S_ISDIR(status.st_mode)) return fail(folder.string(), "it is not a folder");
  const std::string why = distrust(status, ::geteuid());
  if (!why.empty()) return fail(folder.string(), why);
  return {};
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path().parent_path(), error);
  for (const fs::path& part : {folder.parent_path(), folder}) {
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno("cannot make " + part.string());
    }
    if (auto ours = check_own_folder(part); !ours) return ours;
  }
  return {};
}

// Behind a wrapper that starts another Python the key tells nothing of its packages.
bool is_current(const Record& record) {
  return std::ranges::all_of(record.packages, [](const Packages& folder) {
    struct stat status {};
    const bool is_there = ::stat(folder.path.c_str(), &status) == 0;
    return is_there &&
           status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec == folder.changed_ns;
  });
}

void remove_the_oldest(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> records;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code untold;
    if (at->path().extension() != ending) continue;
    records.emplace_back(at->last_write_time(untold), at->path());
  }
  std::ranges::sort(records);
  for (std::size_t i = 0; i + most_kept < records.size(); ++i) fs::remove(records[i].second, error);
}

}  // namespace

const std::string_view probe =
#include "probe.inc"
    ;

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

Result<Record> parse_record(std::string_view text) {
  if (text.size() > most_record_bytes)
    return fail("the list of files for --prefetch", "it is too long");
  Record record;
  std::uint64_t bytes = 0;
  for (std::size_t number = 1; number <= most_lines; ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end == text.npos) return fail("the list of files for --prefetch", "it is cut off");
    text.remove_prefix(end + 1);
    if (number > 1 && line == "end" && text.empty()) return record;
    if (number == 1 ? line != first_line : !take_line(line, record, bytes)) {
      return fail("the list of files for --prefetch", fmt::format("line {}", number));
    }
  }
  return fail("the list of files for --prefetch", "it has too many lines");
}

std::optional<fs::path> folder_of(const Environment& environment) {
  if (const auto cache = environment.non_empty("XDG_CACHE_HOME")) {
    return fs::path(*cache) / "toprun/prefetch";
  }
  const auto home = environment.non_empty("HOME");
  if (!home) return std::nullopt;
  return fs::path(*home) / ".cache/toprun/prefetch";
}

Result<std::optional<Record>> find_kept(const fs::path& folder, const std::string& key) {
  for (const fs::path& part : {folder.parent_path(), folder}) {
    TRY(check_own_folder(part));
  }
  const fs::path path = folder / (key + ending);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  if (const std::string why = distrust(status, ::geteuid()); !why.empty()) {
    return fail(path.string(), why);
  }
  const auto text = read_plain_file(path, most_record_bytes);
  if (!text) return std::nullopt;
  auto record = parse_record(*text);
  if (!record || !is_current(*record)) return std::nullopt;
  return *std::move(record);
}

Result<void> keep(const fs::path& folder, const std::string& key, std::string_view text) {
  if (auto made = make_folder(folder); !made) return made;
  if (auto kept = replace_file(folder / (key + ending), text); !kept) return kept;
  remove_the_oldest(folder);
  return {};
}

}  // namespace toprun::prefetch
