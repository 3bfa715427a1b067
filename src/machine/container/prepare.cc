#include "machine/container/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/image.h"
#include "machine/container/places.h"

namespace toprun::container {
namespace {

using std::chrono::steady_clock;

constexpr int touches = 12;  // in the time after which a file counts as left behind

bool has_no_locks(int error) {
  return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP || error == EINVAL;
}

bool untouched(const struct stat& before, const struct stat& now) {
  return before.st_ino == now.st_ino && before.st_mtim.tv_sec == now.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
}

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_record_bytes = 64u << 10;

std::string record_of(const Run& run) {
  return fmt::format("{}\n{}\n", run.request.image, fingerprint(run.request.image));
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

}  // namespace

FileLock::FileLock(std::filesystem::path file, Flock flock,
                   std::chrono::milliseconds abandoned_after)
    : file_(std::move(file)),
      created_(file_.native() + ".held"),
      flock_(flock),
      abandoned_after_(abandoned_after) {}

FileLock::~FileLock() {
  if (!toucher_) return;
  toucher_.reset();
  ::unlink(created_.c_str());
}

Result<bool> FileLock::try_lock() {
  if (toucher_) return true;
  if (!locked_) {
    locked_ = Fd(::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  if (!locked_) return fail_errno("cannot open " + file_.native());
  if (flock_(locked_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  if (has_no_locks(errno)) return try_create();
  return fail_errno("cannot lock " + file_.native());
}

Result<bool> FileLock::try_create() {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  if (const Fd ours(::open(created_.c_str(), flags, 0600)); ours) {
    keep_touching();
    return true;
  }
  if (errno != EEXIST) return fail_errno("cannot make " + created_.native());
  if (was_left()) ::unlink(created_.c_str());  // the next try may create it
  return false;
}

bool FileLock::was_left() {
  struct stat now {};
  if (::stat(created_.c_str(), &now) != 0) return false;
  if (!seen_since_ || !untouched(others_, now)) {
    others_ = now;
    seen_since_ = steady_clock::now();
    return false;
  }
  return steady_clock::now() - *seen_since_ > abandoned_after_;
}

void FileLock::keep_touching() {
  toucher_.emplace([path = created_, pause = abandoned_after_ / touches](std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      stopped.wait_for(lock, stop, pause, [] { return false; });
      if (!stop.stop_requested()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    }
  });
}

Preparation::Preparation(const Runtime& runtime, const Run& run, const Node& node,
                         const Environment& environment)
    : runtime_(runtime), run_(run), node_(node), environment_(environment) {
  product_ = runtime.product(run, environment);
  if (product_) path_ = product_->path;
}

std::string Preparation::where() const {
  return fmt::format("{} ({})", path_.native(), product_ ? product_->source : "");
}

std::string Preparation::what() const {
  return run_.request.name.empty()
             ? fmt::format("{}: container image {}", node_.host, printable(run_.request.image))
             : fmt::format("{}: container {}", node_.host, run_.request.name);
}

// Hidden, because enroot lists whatever else lies in its folder.
fs::path Preparation::beside(std::string_view ending) const {
  return path_.parent_path() / fmt::format(".{}.{}", path_.filename().native(), ending);
}

Result<Preparation::State> Preparation::try_begin() {
  if (!product_) return State::ready;
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  if (error) {
    return fail(fmt::format("{}: cannot make {}", node_.host, path_.parent_path().native()),
                error.message(), "choose another folder with TOPRUN_CONTAINERS");
  }
  TRY(check_places());
  const auto locked = TRY(try_lock());
  if (!locked) return State::wait;
  if (!fs::exists(path_, error)) return State::make;
  TRY(check_record());
  make_targets();
  return State::ready;
}

Result<void> Preparation::check_places() const {
  auto checked = check_path(*product_, environment_);
  if (const auto caches = caches_path(environment_); checked && caches) {
    checked = check_path(*caches, environment_);
  }
  if (checked) return {};
  Error& error = checked.error();
  return fail(what(), fmt::format("{}: {}", error->what, error->why), std::move(error->fix));
}

Result<bool> Preparation::try_lock() {
  if (!lock_) lock_ = std::make_unique<FileLock>(beside("lock"));
  auto locked = lock_->try_lock();
  if (!locked) locked.error()->what = fmt::format("{}: {}", node_.host, locked.error()->what);
  return locked;
}

Result<void> Preparation::check_record() const {
  const fs::path file = beside("toprun");
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  const auto text = TRY(read_plain_file(file, max_record_bytes));
  if (text == record_of(run_)) return {};
  const std::string image(text.substr(0, text.find('\n')));
  const bool same_name = image == run_.request.image;
  const std::string why =
      same_name ? fmt::format("{} has changed since the container was made", printable(image))
                : fmt::format("the container was made from {}", printable(image));
  if (run_.request.name.empty()) {
    return fail(what(), fmt::format("{}: {}", path_.native(), why), "remove " + path_.native());
  }
  return fail(what(), why,
              fmt::format("choose another --container-name, or remove {} (this also removes your "
                          "changes in this container)",
                          path_.native()));
}

Error Preparation::failure(const Command& command, int code, std::string_view its_words) const {
  if (auto error = runtime_.explain(its_words, run_, node_)) return *std::move(error);
  const std::string said = last_words(its_words);
  return {what(),
          fmt::format("{} ended with code {}{}", command.argv.front(), code,
                      said.empty() ? ", without a message" : ": " + said),
          "try this command by hand: " + shown_command(command.argv)};
}

Result<void> Preparation::completed() {
  if (auto written = replace_file(beside("toprun"), record_of(run_)); !written) return written;
  make_targets();
  return {};
}

// A folder in which changes are allowed is mounted as it is: runtimes then make no new places for
// binds in it.
void Preparation::make_targets() const {
  std::error_code ignored;
  if (!run_.request.writable || !fs::is_directory(path_, ignored)) return;
  for (const Bind& bind : in_order(run_.binds)) {
    const fs::path inside = bind.target.substr(1);
    const fs::path target = path_ / inside;
    if (has_link(path_, inside) || fs::exists(target, ignored)) continue;
    const bool is_folder = fs::is_directory(bind.source, ignored);
    fs::create_directories(is_folder ? target : target.parent_path(), ignored);
    if (!is_folder) Fd(::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644));
  }
}

std::string fingerprint(std::string_view image) {
  const auto parsed = parse_image(image);
  if (!parsed || !parsed->is_path()) return {};
  struct stat status {};
  if (::stat(parsed->path.c_str(), &status) != 0) return {};
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

Result<void> prepare(const Runtime& runtime, const Run& run, const Node& node,
                     const Environment& environment,
                     const std::function<void(const std::string&)>& say) {
  Preparation preparation(runtime, run, node, environment);
  auto state = preparation.try_begin();
  if (state == Preparation::State::wait) {
    say(preparation.what() + ": waiting for another process that is creating this container");
  }
  const auto deadline = Clock::now() + creation_limit;
  while (state == Preparation::State::wait) {
    if (Clock::now() > deadline) {
      return fail(preparation.what(),
                  fmt::format("another process has been creating the container for {} min",
                              creation_limit.count()));
    }
    std::this_thread::sleep_for(lock_interval);
    state = preparation.try_begin();
  }
  if (!state) return std::unexpected(state.error());
  if (*state == Preparation::State::ready) return {};
  say(fmt::format("{}: making {}", preparation.what(), preparation.where()));
  for (const Command& command : preparation.commands()) {
    const auto done = TRY(process::run(command.argv, command.environment, creation_limit));
    if (done.code != 0) {
      return std::unexpected(preparation.failure(command, done.code, done.err));
    }
  }
  return preparation.completed();
}

}  // namespace toprun::container
