#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace toprun::stacks {

inline constexpr int most_stuck = 32;  // threads that are abandoned; then nothing is tried any more

// Runs `work` on a thread of its own and waits for it at most `limit`. False: it has not ended; its
// thread goes on, stuck in the kernel, so `work` must own all that it uses. Also false, at once,
// when no thread can be had or `most_stuck` are stuck. Any thread may call it.
bool ends_within(std::chrono::milliseconds limit, std::function<void()> work);

// The answer of `work`, or nothing if it takes longer.
template <class T>
std::optional<T> within(std::chrono::milliseconds limit, std::function<T()> work) {
  const auto answer = std::make_shared<std::optional<T>>();
  const bool ended =
      ends_within(limit, [answer, work = std::move(work)] { answer->emplace(work()); });
  if (!ended) return std::nullopt;
  return std::move(*answer);
}

}  // namespace toprun::stacks
