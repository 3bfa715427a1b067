#include "node/prepare/stage/share.h"

namespace toprun::stage {

using std::chrono::milliseconds;

void Share::list(std::shared_ptr<const List> list) {
  const std::lock_guard lock(mutex_);
  list_ = std::move(list);
  changed_.notify_all();
}

void Share::open(OpenTree tree, std::vector<bool> is_there, bool is_source) {
  const std::lock_guard lock(mutex_);
  tree_ = std::move(tree);
  is_there_ = std::move(is_there);
  is_source_ = is_source;
  is_open_ = true;
  changed_.notify_all();
}

void Share::add(std::uint32_t chunk) {
  const std::lock_guard lock(mutex_);
  is_there_[chunk] = true;
  changed_.notify_all();
}

void Share::close(Refusal refusal) {
  const std::lock_guard lock(mutex_);
  if (!refusal_) refusal_ = std::move(refusal);
  changed_.notify_all();
}

void Share::set_waiting(bool waiting) {
  const std::lock_guard lock(mutex_);
  waiting_ = waiting;
  changed_.notify_all();
}

void Share::stop() {
  stopped_ = true;
  close({"the run is over", false});
}

std::shared_ptr<const Share::List> Share::list_within(milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return list_ || refusal_; });
  return list_;
}

bool Share::has_within(std::uint32_t chunk, milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return refusal_ || is_there_[chunk]; });
  return is_there_[chunk];
}

bool Share::is_open_within(milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return is_open_ || waiting_ || refusal_; });
  return is_open_;
}

std::optional<Share::Refusal> Share::refusal() const {
  const std::lock_guard lock(mutex_);
  if (!refusal_ && waiting_) return Refusal{"it waits for another job's copy", false};
  return refusal_;
}

}  // namespace toprun::stage
