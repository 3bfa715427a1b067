#include "show/report_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/console.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/quietly.h"
#include "base/timer.h"
#include "base/trust.h"

namespace toprun::show {
namespace asio = boost::asio;

struct ReportFile::State {
  State(Pool& threads, std::optional<std::string> file)
      : pool(threads), path(std::move(file)), rests(threads.io(), SteadyTime::max()) {}

  Pool& pool;
  const std::optional<std::string> path;
  bool writing = false;
  bool has_failed = false;  // which was said
  std::optional<view::RunRecord> next;
  Timer rests;  // cancelled when nothing is being written any more
};

namespace {

// A file system that takes longer for a version while the run goes on gets no other.
constexpr std::chrono::minutes version_limit{10};

std::string text_of(const view::RunRecord& record) {
  return json_text(view::report_json(record), 2) + '\n';
}

// A pipe or a device, which can only be written once.
bool is_special(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
}

Result<void> write_last(const std::string& path, const view::RunRecord& record) {
  const std::string text = text_of(record);
  if (is_special(path)) return write_through(path, text);
  const auto replaced = replace_file(path, text);
  if (replaced) return {};
  std::error_code error;
  if (std::filesystem::exists(path, error))
    return write_through(path, text);  // in a folder that takes no new file
  return fail("cannot write " + path, replaced.error().why);
}

}  // namespace

ReportFile::ReportFile(Pool& pool, std::optional<std::string> path)
    : state_(std::make_shared<State>(pool, std::move(path))) {}

void ReportFile::keep(view::RunRecord record) {
  if (!state_->path) return;
  if (state_->writing) {
    state_->next = std::move(record);
  } else {
    write(state_, std::move(record));
  }
}

void ReportFile::write(const std::shared_ptr<State>& state, view::RunRecord record) {
  state->writing = true;
  state->pool.run<Result<void>>(
      version_limit,
      [path = *state->path, record = std::move(record)]() -> Result<void> {
        if (is_special(path)) return {};
        return replace_file(path, text_of(record));
      },
      [state](const std::optional<Result<void>>& written) {
        if (!written) return;  // and nothing more is: a later version must not be overtaken
        state->writing = false;
        if (!*written && !std::exchange(state->has_failed, true)) {
          say(fmt::format("cannot write {}: {}; the job goes on, and it is tried again",
                          *state->path, written->error().why));
        }
        if (auto next = std::exchange(state->next, std::nullopt)) {
          write(state, *std::move(next));
        } else {
          state->rests.cancel();
        }
      });
}

asio::awaitable<void> ReportFile::finish(view::RunRecord record) {
  if (!state_->path) co_return;
  state_->next.reset();
  const SteadyTime deadline = SteadyClock::now() + report_limit;
  while (state_->writing && SteadyClock::now() < deadline) {
    state_->rests.expires_at(deadline);
    co_await state_->rests.async_wait(quietly);
  }
  const std::string path = *state_->path;
  if (!state_->writing) {
    std::function<Result<void>()> work = [path, record = std::move(record)] {
      return write_last(path, record);
    };
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    const auto written = co_await state_->pool.answer<Result<void>>(std::move(work), left);
    if (written && !*written) say(written->error().line());
    if (written) co_return;
  }
  say(fmt::format("cannot write {}: not done after {} s; nobody reads it, or its file system hangs",
                  path, report_limit.count()));
}

}  // namespace toprun::show
