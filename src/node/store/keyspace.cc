#include "node/store/keyspace.h"

#include <sodium/crypto_shorthash.h>
#include <sodium/randombytes.h>

#include <array>
#include <charconv>

#include "node/store/protocol.h"

namespace toprun::store {
namespace {

using Seed = std::array<unsigned char, crypto_shorthash_KEYBYTES>;

Seed draw() {
  Seed seed;
  randombytes_buf(seed.data(), seed.size());
  return seed;
}

// The bytes that the ledger counts for a key, a queue, a queued value and a parked or watched key
// beside their bytes: the nodes and buckets of the maps, rounded up.
constexpr std::size_t entry_overhead_bytes = 160;
constexpr std::size_t queue_overhead_bytes = 800;
constexpr std::size_t queued_overhead_bytes = 80;
constexpr std::size_t link_overhead_bytes = 200;

// As strtoll reads it, which is what PyTorch's servers use: blanks and a sign may precede the
// digits, anything may follow them.
std::optional<std::int64_t> leading_number(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\n\v\f\r");
  if (start == text.npos) return std::nullopt;
  text.remove_prefix(start);
  if (text.front() == '+') {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::size_t KeyHash::operator()(std::string_view key) const {
  static const Seed seed = draw();
  std::uint64_t hash = 0;
  static_assert(sizeof hash == crypto_shorthash_BYTES);
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   reinterpret_cast<const unsigned char*>(key.data()), key.size(), seed.data());
  return hash;
}

// One awaited key of a parked wait: an element of that key's list.
struct Keyspace::Link {
  Waiter::Wait* wait = nullptr;
  WaitList* list = nullptr;  // null once the key has come
  Link* previous = nullptr;
  Link* next = nullptr;
};

struct Waiter::Wait {
  Waiter& waiter;
  Keyspace& keyspace;
  Charge charge;
  std::vector<Keyspace::Link> links;
  std::size_t missing;

  ~Wait() {
    for (Keyspace::Link& link : links) {
      if (!link.list) continue;
      Keyspace::WaitList& list = *link.list;
      Keyspace::unlink(link);
      if (!list.first) keyspace.waiting_.erase(list.key);
    }
  }
};

struct Waiter::Watch {
  Waiter& waiter;
  Keyspace& keyspace;
  Charge charge;
  std::unordered_set<std::string, KeyHash> keys;

  Watch(Waiter& its_waiter, Keyspace& its_keyspace)
      : waiter(its_waiter), keyspace(its_keyspace), charge(its_keyspace.ledger_) {}
  ~Watch() {
    for (const std::string& key : keys) {
      std::unordered_set<Waiter*>& watchers = *keyspace.watching_.find(key);
      watchers.erase(&waiter);
      if (watchers.empty()) keyspace.watching_.erase(key);
    }
  }
};

Waiter::Waiter() = default;
Waiter::~Waiter() = default;

void Waiter::forget() {
  wait_.reset();
  watch_.reset();
}

Keyspace::Entry::Entry(Ledger& ledger, std::string_view key)
    : charge(ledger, key.size() + entry_overhead_bytes), value(ledger) {}

const Value* Keyspace::find(std::string_view key) const {
  const Entry* const found = values_.find(key);
  return found ? &found->value : nullptr;
}

const Value* Keyspace::find_to_share(std::string_view key) {
  Entry* const found = values_.find(key);
  if (!found) return nullptr;
  found->value.share();
  return &found->value;
}

bool Keyspace::present(std::string_view key) const {
  return find(key) != nullptr || queues_.find(key) != nullptr;
}

std::size_t Keyspace::cost(std::string_view key, std::string_view value) {
  return key.size() + entry_overhead_bytes + value.size();
}

Value& Keyspace::value_of(std::string_view key) {
  return values_.find_or_insert(key, ledger_, key).value;
}

void Keyspace::set(std::string_view key, std::string_view bytes) {
  value_of(key).assign(bytes);
  wake(key);
}

bool Keyspace::append(std::string_view key, std::string_view bytes) {
  if (!fits(cost(key, bytes))) return false;
  value_of(key).append(bytes);
  wake(key);
  return true;
}

Keyspace::Added Keyspace::add(std::string_view key, std::int64_t delta, std::int64_t& sum,
                              bool wake_waiters) {
  std::int64_t before = 0;
  Entry* const found = values_.find(key);
  if (found) {
    const auto number = leading_number(found->value.view());
    if (!number) return Added::not_a_number;
    before = *number;
  }
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                  static_cast<std::uint64_t>(delta));
  char digits[24];
  const char* const end = std::to_chars(digits, std::end(digits), sum).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  if (found) {
    found->value.assign(text);
  } else {
    if (!fits(cost(key, text))) return Added::no_memory;
    value_of(key).assign(text);
  }
  if (wake_waiters) wake(key);
  return Added::done;
}

bool Keyspace::erase(std::string_view key) {
  return values_.erase(key);
}

void Keyspace::unlink(Link& link) {
  WaitList& list = *link.list;
  (link.previous ? link.previous->next : list.first) = link.next;
  (link.next ? link.next->previous : list.last) = link.previous;
  link.list = nullptr;
}

void Keyspace::release(Waiter& waiter) {
  waiter.wait_.reset();
  waiter.deliver({reinterpret_cast<const char*>(&stop_waiting), 1});
}

void Keyspace::wake(std::string_view key) {
  if (waiting_.empty()) return;
  const WaitList* const list = waiting_.find(key);
  if (!list) return;
  Link* link = list->first;
  waiting_.erase(key);
  while (link) {
    Link& current = *link;
    link = link->next;
    current.list = nullptr;
    if (--current.wait->missing == 0) release(current.wait->waiter);
  }
}

bool Keyspace::push(std::string_view key, std::string_view bytes) {
  if (!fits(key.size() + queue_overhead_bytes + queued_overhead_bytes + bytes.size())) return false;
  Queue& queue = queues_.find_or_insert(key, ledger_);
  queue.values.emplace_back(ledger_).assign(bytes);
  charge_for(queue, key);
  WaitList* const list = waiting_.find(key);
  if (!list) return true;
  bool released = false;
  while (list->first && !released) {
    Link& link = *list->first;
    unlink(link);
    if (--link.wait->missing > 0) continue;
    release(link.wait->waiter);
    released = true;
  }
  if (!list->first) waiting_.erase(key);
  return true;
}

void Keyspace::charge_for(Queue& queue, std::string_view key) {
  queue.charge.set(key.size() + queue_overhead_bytes + queue.values.size() * queued_overhead_bytes);
}

const Value* Keyspace::front(std::string_view key) const {
  const Queue* const queue = queues_.find(key);
  return queue ? &queue->values.front() : nullptr;
}

void Keyspace::pop(std::string_view key) {
  Queue& queue = *queues_.find(key);
  queue.values.pop_front();
  charge_for(queue, key);
  if (queue.values.empty()) queues_.erase(key);
}

std::size_t Keyspace::queue_size(std::string_view key) const {
  const Queue* const queue = queues_.find(key);
  return queue ? queue->values.size() : 0;
}

bool Keyspace::park(Waiter& waiter, std::span<const std::string_view> absent_keys) {
  std::size_t bytes = 0;
  for (const std::string_view key : absent_keys) bytes += key.size() + link_overhead_bytes;
  if (!fits(bytes)) return false;
  waiter.wait_.reset();
  waiter.wait_.reset(new Waiter::Wait{waiter, *this, Charge(ledger_, bytes),
                                      std::vector<Link>(absent_keys.size()), absent_keys.size()});
  Link* link = waiter.wait_->links.data();
  for (const std::string_view key : absent_keys) {
    WaitList& list = waiting_.find_or_insert(key, key);
    *link = {waiter.wait_.get(), &list, list.last, nullptr};
    (list.last ? list.last->next : list.first) = link;
    list.last = link++;
  }
  return true;
}

void Keyspace::cancel_wait(Waiter& waiter) {
  waiter.wait_.reset();
}

bool Keyspace::watch(Waiter& waiter, std::string_view key) {
  const std::size_t bytes = 2 * (key.size() + link_overhead_bytes);
  if (!fits(bytes)) return false;
  if (!waiter.watch_) waiter.watch_ = std::make_unique<Waiter::Watch>(waiter, *this);
  if (!waiter.watch_->keys.emplace(key).second) return true;
  waiter.watch_->charge.add(bytes);
  watching_.find_or_insert(key).insert(&waiter);
  return true;
}

std::size_t Keyspace::watched_by(const Waiter& waiter) const {
  return waiter.watch_ ? waiter.watch_->keys.size() : 0;
}

const std::unordered_set<Waiter*>* Keyspace::watchers(std::string_view key) const {
  if (watching_.empty()) return nullptr;
  return watching_.find(key);
}

bool Keyspace::dissolve(std::size_t budget) {
  const auto at_once = [](Entry&, std::size_t&) { return true; };
  const auto value_by_value = [](Queue& queue, std::size_t& left) {
    for (; left > 0 && !queue.values.empty(); --left) queue.values.pop_front();
    return queue.values.empty() && left > 0;
  };
  return values_.dissolve(budget, at_once) && queues_.dissolve(budget, value_by_value);
}

}  // namespace toprun::store
