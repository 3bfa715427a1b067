#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/os/files.h"
#include "node/prepare/stage/manifest.h"

namespace toprun::stage {

inline void write(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Returns `size` bytes that differ from chunk to chunk.
inline std::string content(std::size_t size, char seed) {
  std::string text(size, seed);
  for (std::size_t i = 0; i < size; i += 4096)
    text[i] = static_cast<char>(seed + static_cast<char>(i / 4096));
  return text;
}

// Everything that a program can see of a folder: the kind, mode, time and content of each path.
inline std::map<std::string, std::string> seen(const std::filesystem::path& tree) {
  std::map<std::string, std::string> all;
  const auto add = [&](const std::filesystem::path& path) {
    struct stat status {};
    ::lstat(path.c_str(), &status);
    std::string text = std::to_string(status.st_mode) + " ";
    if (S_ISLNK(status.st_mode)) text += std::filesystem::read_symlink(path).string();
    if (S_ISREG(status.st_mode)) {
      text += std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec) +
              " " + hex(hash_of(read_file(path, std::size_t{1} << 30).value_or("")));
    }
    all[path == tree ? "" : path.lexically_relative(tree).string()] = text;
  };
  add(tree);
  if (std::filesystem::is_directory(std::filesystem::symlink_status(tree))) {
    for (const auto& item : std::filesystem::recursive_directory_iterator(tree)) add(item.path());
  }
  return all;
}

// Creates an environment with typical contents: links, an empty file and folder, programs, a
// library of several chunks.
inline void make_environment(const std::filesystem::path& path) {
  write(path / "bin/python", "#!/bin/sh\n");
  ::chmod((path / "bin/python").c_str(), 0755);
  std::filesystem::create_symlink("python", path / "bin/python3");
  std::filesystem::create_symlink("/usr/lib", path / "elsewhere");
  write(path / "lib/large.so", content(5 * chunk_bytes / 2, 'l'));
  write(path / "lib/empty.py", "");
  for (int i = 0; i < 40; ++i)
    write(path / "lib/m" / (std::to_string(i) + ".py"), content(100, 'a'));
  std::filesystem::create_directories(path / "share/empty");
  ::chmod((path / "share").c_str(), 0750);
}

}  // namespace toprun::stage
