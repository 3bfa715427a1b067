#include "container/prepare.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "container/binds.h"
#include "container/image.h"

namespace toprun::container {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds lock_interval{100};
constexpr std::size_t max_record_bytes = 64u << 10;

struct Making {
  const Runtime& runtime;
  const Run& run;
  const Node& node;
  const Environment& environment;
  const std::function<void(const std::string&)>& say;
  fs::path path;

  std::string what() const {
    return run.wanted.name.empty()
               ? fmt::format("{}: container image {}", node.host, printable(run.wanted.image))
               : fmt::format("{}: container {}", node.host, run.wanted.name);
  }
  // Hidden, because enroot lists whatever else lies in its folder.
  fs::path beside(std::string_view ending) const {
    return path.parent_path() / fmt::format(".{}.{}", path.filename().native(), ending);
  }
};

// Another process that makes the same may take as long as making does.
Result<Fd> lock(const Making& making) {
  const fs::path file = making.beside("lock");
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(fmt::format("{}: cannot open {}", making.node.host, file.native()));
  const auto deadline = Clock::now() + creation_limit;
  bool has_said = false;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail_errno(fmt::format("{}: cannot lock {}", making.node.host, file.native()));
    }
    if (!has_said) making.say(making.what() + ": waiting for another process that makes it");
    has_said = true;
    if (Clock::now() > deadline) {
      return fail(
          making.what(),
          fmt::format("another process has been making it for {} minutes", creation_limit.count()),
          fmt::format("end it, or remove {}", file.native()));
    }
    std::this_thread::sleep_for(lock_interval);
  }
  return fd;
}

std::string record_of(const Run& run) {
  return fmt::format("{}\n{}\n", run.wanted.image, fingerprint(run.wanted.image));
}

// Without a record it is the user's own, made by other means.
Result<void> check_record(const Making& making) {
  const fs::path file = making.beside("toprun");
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  const auto text = read_plain_file(file, max_record_bytes);
  if (!text) return std::unexpected(text.error());
  if (*text == record_of(making.run)) return {};
  const std::string_view image = std::string_view(*text).substr(0, text->find('\n'));
  const bool same_name = image == making.run.wanted.image;
  if (making.run.wanted.name.empty()) {
    return fail(making.what(), fmt::format("{} was made from {}", making.path.native(), image),
                fmt::format("remove {}", making.path.native()));
  }
  return fail(making.what(),
              same_name ? fmt::format("{} has changed since it was made", image)
                        : fmt::format("it was made from {}", image),
              fmt::format("take another --container-name, or remove {} with what was changed in it",
                          making.path.native()));
}

Result<void> run_one(const Making& making, const Command& command) {
  const auto done = finish(command.argv, command.environment, creation_limit);
  if (!done) return std::unexpected(done.error());
  if (done->code == 0) return {};
  if (auto error = making.runtime.explain(done->err, making.run, making.node)) {
    return std::unexpected(*std::move(error));
  }
  return fail(making.what(),
              fmt::format("{} failed with code {}: {}", command.argv.front(), done->code,
                          last_words(done->err)),
              "run it by hand to see more: " + shell_quote(command.argv));
}

Result<void> make(const Making& making) {
  making.say(fmt::format("{}: making {}", making.what(), making.path.native()));
  for (const Command& command :
       making.runtime.creation(making.run, making.node, making.environment)) {
    if (auto done = run_one(making, command); !done) return done;
  }
  return replace_file(making.beside("toprun"), record_of(making.run));
}

// A link inside means a place inside, but leads this process to one of the host.
bool has_link(const fs::path& folder, const fs::path& below) {
  std::error_code ignored;
  fs::path path = folder;
  for (const fs::path& part : below) {
    path /= part;
    if (fs::is_symlink(path, ignored)) return true;
  }
  return false;
}

// A folder that is written to cannot be given new places for mounts when it is in use.
void make_targets(const Making& making) {
  std::error_code ignored;
  if (!fs::is_directory(making.path, ignored)) return;
  for (const Bind& bind : in_order(making.run.binds)) {
    const fs::path inside = bind.target.substr(1);
    const fs::path target = making.path / inside;
    if (has_link(making.path, inside) || fs::exists(target, ignored)) continue;
    const bool is_folder = fs::is_directory(bind.source, ignored);
    fs::create_directories(is_folder ? target : target.parent_path(), ignored);
    if (!is_folder) Fd(::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644));
  }
}

}  // namespace

std::string fingerprint(std::string_view image) {
  const auto parsed = parse_image(image);
  if (!parsed || !parsed->is_path()) return {};
  struct stat status {};
  if (::stat(parsed->path.c_str(), &status) != 0) return {};
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::string last_words(std::string_view text) {
  std::string last;
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) last = printable(trim(line));
  }
  return last.empty() ? "it said nothing" : last;
}

Result<void> prepare(const Runtime& runtime, const Run& run, const Node& node,
                     const Environment& environment,
                     const std::function<void(const std::string&)>& say) {
  const auto path = runtime.product(run, environment);
  if (!path) return {};
  const Making making{runtime, run, node, environment, say, *path};
  std::error_code error;
  fs::create_directories(making.path.parent_path(), error);
  if (error) {
    return fail(fmt::format("{}: cannot make {}", node.host, making.path.parent_path().native()),
                error.message(), "name another folder by TOPRUN_CONTAINERS");
  }
  const auto held = lock(making);
  if (!held) return std::unexpected(held.error());
  const bool is_there = fs::exists(making.path, error);
  auto done = is_there ? check_record(making) : make(making);
  if (done && run.wanted.writable) make_targets(making);
  return done;
}

}  // namespace toprun::container
