#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace toprun {

#ifdef TOPRUN_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Of `runs` random cases, those that a test tries: a sanitizer makes each ten times as slow. Rooms
// of which that is too few have their tests in the release build, too (cmake/Rooms.cmake).
constexpr int tried(int runs) {
  return sanitized ? (runs + 19) / 20 : runs;
}

// An empty folder that the test removes at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "toprun-test-XXXXXX";
    path_ = std::filesystem::canonical(::mkdtemp(pattern.data()));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace toprun
