#include "machine/doctor/installed.h"

#include <vector>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_version_file_bytes = 64 * 1024;

bool is_version(std::string_view text) {
  const auto parts = split(text, '.');
  return parts.size() == 2 && parse_int(parts[0]) && parse_int(parts[1]);
}

// "3.11" of "3.11.2" and "3.11.2.final.0".
std::string major_minor(std::string_view text) {
  const auto parts = split(trim(text), '.');
  if (parts.size() < 2) return {};
  const std::string version = fmt::format("{}.{}", parts[0], parts[1]);
  return is_version(version) ? version : "";
}

struct VirtualEnvironment {
  fs::path prefix;
  std::string version;
  bool with_system_site = false;
  fs::path home;  // the folder of the Python that it was made from
};

std::optional<VirtualEnvironment> virtual_environment(const fs::path& python) {
  for (const fs::path& folder : {python.parent_path(), python.parent_path().parent_path()}) {
    const auto text = read_file(folder / "pyvenv.cfg", longest_version_file_bytes);
    if (!text) continue;
    VirtualEnvironment found{.prefix = folder, .version = {}, .home = {}};
    for (const std::string_view line : split(*text, '\n')) {
      const std::size_t equals = line.find('=');
      if (equals == line.npos) continue;
      const std::string key = lower(trim(line.substr(0, equals)));
      const std::string_view value = trim(line.substr(equals + 1));
      if (key == "version" || key == "version_info") found.version = major_minor(value);
      if (key == "include-system-site-packages") found.with_system_site = lower(value) == "true";
      if (key == "home") found.home = value;
    }
    return found;
  }
  return std::nullopt;
}

// From the program's name with links resolved, else from the only lib/pythonX.Y below the prefix.
std::string version_beside(const fs::path& program, const fs::path& prefix) {
  const std::string name = program.filename();
  constexpr std::string_view stem = "python";
  if (name.starts_with(stem) && is_version(std::string_view(name).substr(stem.size()))) {
    return name.substr(stem.size());
  }
  std::vector<std::string> versions;
  std::error_code error;
  for (fs::directory_iterator i(prefix / "lib", error), end; !error && i != end;
       i.increment(error)) {
    const std::string entry = i->path().filename();
    if (entry.starts_with(stem) && is_version(std::string_view(entry).substr(stem.size()))) {
      versions.push_back(entry.substr(stem.size()));
    }
  }
  return versions.size() == 1 ? versions.front() : "";
}

void add_site(std::vector<fs::path>& folders, const fs::path& prefix, const std::string& version) {
  for (const char* lib : {"lib", "lib64"}) {
    folders.push_back(prefix / lib / ("python" + version) / "site-packages");
  }
}

// A Python of the system; Debian uses other folders.
void add_system_site(std::vector<fs::path>& folders, const fs::path& prefix,
                     const std::string& version, const fs::path& root) {
  if (prefix == root / "usr") {
    add_site(folders, root / "usr/local", version);
    folders.push_back(root / "usr/local/lib" / ("python" + version) / "dist-packages");
    folders.push_back(root / "usr/lib/python3/dist-packages");
  }
  add_site(folders, prefix, version);
}

void add_user_site(std::vector<fs::path>& folders, const std::string& version,
                   const Environment& environment, const fs::path& root) {
  if (environment.non_empty("PYTHONNOUSERSITE")) return;
  if (const auto base = environment.non_empty("PYTHONUSERBASE")) {
    add_site(folders, root / fs::path(*base).relative_path(), version);
  } else if (const auto home = environment.non_empty("HOME")) {
    add_site(folders, root / fs::path(*home).relative_path() / ".local", version);
  }
}

// The text between quotes in the line "__version__ = '2.13.0+cpu'".
std::string torch_in(const fs::path& folder) {
  const auto text = read_file(folder / "torch/version.py", longest_version_file_bytes);
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.starts_with("__version__")) continue;
    const std::size_t begin = line.find_first_of("'\"");
    if (begin == line.npos) return {};
    const std::size_t end = line.find(line[begin], begin + 1);
    if (end == line.npos) return {};
    return std::string(line.substr(begin + 1, end - begin - 1));
  }
  return {};
}

// Of nvidia_nccl_cu12-2.27.3.dist-info; a CPU build has none.
std::string nccl_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "nvidia/nccl", error)) return {};
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename();
    constexpr std::string_view suffix = ".dist-info";
    if (!name.starts_with("nvidia_nccl_") || !name.ends_with(suffix)) continue;
    const auto dash = name.find('-');
    if (dash != name.npos) return name.substr(dash + 1, name.size() - suffix.size() - dash - 1);
  }
  return {};
}

// Of a library that the system, an image or conda has: libnccl.so.2 is a link to libnccl.so.2.27.3.
std::string nccl_library(const fs::path& prefix, const fs::path& root) {
  constexpr std::string_view stem = "libnccl.so.";
  for (const fs::path& folder :
       {prefix / "lib", root / "usr/lib/x86_64-linux-gnu", root / "usr/lib/aarch64-linux-gnu",
        root / "usr/lib64", root / "usr/local/nccl/lib"}) {
    std::error_code error;
    const std::string name = fs::read_symlink(folder / "libnccl.so.2", error).filename();
    if (!error && name.starts_with(stem)) return name.substr(stem.size());
  }
  return {};
}

std::vector<fs::path> python_path(const Environment& environment, const fs::path& root) {
  std::vector<fs::path> folders;
  const std::string value = environment.get("PYTHONPATH").value_or("");
  for (const std::string_view folder : split(value, ':')) {
    if (folder.starts_with('/')) folders.push_back(root / fs::path(folder).relative_path());
    if (!folder.empty() && !folder.starts_with('/')) folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

Installed look_at_python(const std::string& python, const Environment& environment,
                         const fs::path& root) {
  if (environment.non_empty("PYTHONHOME")) return {};
  std::error_code error;
  const fs::path called = root / fs::absolute(python, error).relative_path();
  const fs::path program = fs::canonical(called, error);
  if (error) return {};
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<fs::path> folders = python_path(environment, root);
  Installed installed;
  if (const auto venv = virtual_environment(called)) {
    installed.python = venv->version;
    add_site(folders, venv->prefix, installed.python);
    if (venv->with_system_site) {
      add_user_site(folders, installed.python, environment, root);
      add_system_site(folders, root / venv->home.parent_path().relative_path(), installed.python,
                      root);
    }
  } else {
    installed.python = version_beside(program, prefix);
    add_user_site(folders, installed.python, environment, root);
    add_system_site(folders, prefix, installed.python, root);
  }
  if (installed.python.empty()) return {};
  for (const fs::path& folder : folders) {
    installed.torch = torch_in(folder);
    if (installed.torch.empty()) continue;
    installed.nccl = nccl_in(folder);
    const bool has_gpus = !installed.torch.ends_with("+cpu");
    if (installed.nccl.empty() && has_gpus) installed.nccl = nccl_library(prefix, root);
    break;
  }
  return installed;
}

}  // namespace toprun::doctor
