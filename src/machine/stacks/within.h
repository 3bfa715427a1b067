#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace toprun::stacks {

inline constexpr int most_stuck = 32;  // if this many threads are stuck, no more work is started

// Runs `work` on its own thread and waits for it at most `limit`. Returns false if `work` has not
// ended by then. The thread of such a `work` continues, perhaps stuck in the kernel. So `work` must
// own everything that it uses. Also returns false, at once, if no thread can be started or
// `most_stuck` threads are stuck. Any thread may call ends_within().
bool ends_within(std::chrono::milliseconds limit, std::function<void()> work);

// Returns the result of `work`; nullopt if `work` takes longer than `limit`.
template <class T>
std::optional<T> within(std::chrono::milliseconds limit, std::function<T()> work) {
  const auto answer = std::make_shared<std::optional<T>>();
  const bool ended =
      ends_within(limit, [answer, work = std::move(work)] { answer->emplace(work()); });
  if (!ended) return std::nullopt;
  return std::move(*answer);
}

}  // namespace toprun::stacks
