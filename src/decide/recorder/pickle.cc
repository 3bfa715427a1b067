#include "decide/recorder/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "base/json/json_text.h"

namespace toprun::recorder {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little);  // as the format's numbers

enum Opcode : unsigned char {
  mark = '(',
  stop = '.',
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  bin_int = 'J',
  bin_int1 = 'K',
  bin_int2 = 'M',
  long1 = 0x8a,
  bin_float = 'G',
  bin_unicode = 'X',
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  bin_get = 'h',
  long_bin_get = 'j',
  bin_put = 'q',
  long_bin_put = 'r',
  protocol = 0x80,
};

// A value and how many it consists of, so that copies of copies cannot fill the memory; and how
// deep it is, so that no function that walks through it runs out of stack.
struct Item {
  Json value;
  std::size_t count = 1;
  std::size_t depth = 1;
  // A list or dict that is to be remembered: Python's own pickler says so before it is filled.
  std::optional<std::uint32_t> place = {};
};

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Result<Json> run() {
    if (bytes_.size() < 2 || take() != protocol || take() != 2) {
      return refuse("the dump does not begin with the header of pickle protocol 2");
    }
    while (error_.empty()) {
      if (at_ == bytes_.size()) return refuse("it ends too early");
      const unsigned char opcode = take();
      if (opcode == stop) {
        if (stack_.size() != 1 || !marks_.empty())
          return refuse("the dump does not contain exactly one value");
        return std::move(stack_[0].value);
      }
      step(opcode);
      if (values_ > most_pickle_values) error_ = "it has too many values";
    }
    return refuse(error_);
  }

 private:
  Result<Json> refuse(const std::string& why) const {
    return fail(fmt::format("cannot read a flight-recorder dump at byte {}", at_), why);
  }

  unsigned char take() { return static_cast<unsigned char>(bytes_[at_++]); }

  // `size` bytes, or as many 0 where the input ends.
  std::string_view take_bytes(std::size_t size) {
    if (bytes_.size() - at_ < size) {
      error_ = "it ends too early";
      at_ = bytes_.size();
      return {};
    }
    const auto out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }

  template <class T>
  T number() {
    T value{};
    const auto bytes = take_bytes(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  void push(Item item) {
    values_ += item.count;
    if (item.depth > most_pickle_depth) error_ = "it is nested too deeply";
    stack_.push_back(std::move(item));
  }
  void push(Json value) { push(Item{std::move(value)}); }

  void step(unsigned char opcode) {
    switch (opcode) {
      case none:
        return push(Json());
      case new_true:
        return push(Json(true));
      case new_false:
        return push(Json(false));
      case bin_int:
        return push(Json(number<std::int32_t>()));
      case bin_int1:
        return push(Json(number<std::uint8_t>()));
      case bin_int2:
        return push(Json(number<std::uint16_t>()));
      case long1:
        return push_long();
      case bin_float:
        return push_float();
      case bin_unicode:
        return push(Json(std::string(take_bytes(number<std::uint32_t>()))));
      case empty_list:
      case empty_tuple:
        return push(Json::array());
      case empty_dict:
        return push(Json::object());
      case mark:
        return marks_.push_back(stack_.size());
      case append:
        return add_to_list(above(1));
      case appends:
        return add_to_list(above_mark());
      case set_item:
        return add_to_dict(above(2));
      case set_items:
        return add_to_dict(above_mark());
      case tuple:
        return push_tuple(above_mark());
      case tuple1:
        return push_tuple(above(1));
      case tuple2:
        return push_tuple(above(2));
      case tuple3:
        return push_tuple(above(3));
      case bin_get:
        return get(number<std::uint8_t>());
      case long_bin_get:
        return get(number<std::uint32_t>());
      case bin_put:
        return put(number<std::uint8_t>());
      case long_bin_put:
        return put(number<std::uint32_t>());
      default:
        error_ = fmt::format("opcode {:#04x} is not plain data", opcode);
    }
  }

  // A number of up to eight bytes, the lowest first, in two's complement.
  void push_long() {
    const std::size_t size = number<std::uint8_t>();
    const auto bytes = take_bytes(size);
    if (size > sizeof(std::int64_t)) error_ = "a number is too large";
    if (!error_.empty()) return;
    const bool negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
    std::int64_t value = negative ? -1 : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    push(Json(value));
  }

  void push_float() {
    const auto bits = std::byteswap(number<std::uint64_t>());
    push(Json(std::bit_cast<double>(bits)));
  }

  // The values above a place in the stack, which are taken off it.
  std::vector<Item> above_place(std::size_t place) {
    std::vector<Item> out(std::make_move_iterator(stack_.begin() + static_cast<long>(place)),
                          std::make_move_iterator(stack_.end()));
    stack_.resize(place);
    for (Item& item : out) {
      const auto named = std::exchange(item.place, std::nullopt);
      if (!named) continue;
      on_stack_.erase(*named);
      remember(*named, item);
    }
    return out;
  }
  std::vector<Item> above(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) {
      error_ = "a value is missing";
      return {};
    }
    return above_place(stack_.size() - count);
  }
  std::vector<Item> above_mark() {
    if (marks_.empty()) {
      error_ = "a mark is missing";
      return {};
    }
    const std::size_t place = marks_.back();
    marks_.pop_back();
    return above_place(place);
  }

  // What takes the values that were above it.
  Item* container(Json::value_t type) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (error_.empty() && (stack_.size() <= floor || stack_.back().value.type() != type)) {
      error_ = "values without a list or dict for them";
    }
    return error_.empty() ? &stack_.back() : nullptr;
  }

  void account(Item& whole, const Item& part) {
    whole.count += part.count;
    whole.depth = std::max(whole.depth, part.depth + 1);
    if (whole.depth > most_pickle_depth) error_ = "it is nested too deeply";
  }

  void add_to_list(std::vector<Item> items) {
    Item* const list = container(Json::value_t::array);
    if (list == nullptr) return;
    for (Item& item : items) {
      account(*list, item);
      list->value.push_back(std::move(item.value));
    }
  }

  void add_to_dict(std::vector<Item> items) {
    Item* const dict = container(Json::value_t::object);
    if (dict == nullptr) return;
    if (items.size() % 2 != 0) error_ = "a key without a value";
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const Json& key = items[i].value;
      if (!key.is_string() && !key.is_number_integer()) error_ = "a key is neither text nor number";
      if (!error_.empty()) return;
      account(*dict, items[i + 1]);
      dict->value[key.is_string() ? key.get<std::string>() : json_text(key)] =
          std::move(items[i + 1].value);
    }
  }

  void push_tuple(std::vector<Item> items) {
    if (!error_.empty()) return;
    Item out{Json::array()};
    for (Item& item : items) {
      account(out, item);
      out.value.push_back(std::move(item.value));
    }
    push(std::move(out));
  }

  void put(std::uint32_t place) {
    if (stack_.empty()) {
      error_ = "nothing to remember";
      return;
    }
    Item& item = stack_.back();
    if (item.place || on_stack_.contains(place)) {
      error_ = "a value is remembered twice";
    } else if (item.value.is_structured()) {
      item.place = place;
      on_stack_[place] = stack_.size() - 1;
    } else {
      remember(place, item);
    }
  }

  void remember(std::uint32_t place, const Item& item) {
    values_ += item.count;
    memo_[place] = item;
  }

  // What is remembered, or will be, being still on the stack.
  const Item* remembered(std::uint32_t place) const {
    if (const auto open = on_stack_.find(place); open != on_stack_.end()) {
      return &stack_[open->second];
    }
    const auto found = memo_.find(place);
    return found == memo_.end() ? nullptr : &found->second;
  }

  void get(std::uint32_t place) {
    const Item* const found = remembered(place);
    if (found == nullptr) {
      error_ = "a value that was never given";
      return;
    }
    if (values_ + found->count > most_pickle_values) {
      error_ = "it has too many values";
      return;
    }
    Item copy = *found;
    copy.place.reset();
    push(std::move(copy));
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string error_;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint32_t, Item> memo_;
  std::map<std::uint32_t, std::size_t> on_stack_;  // lists and dicts to remember, by index
  std::size_t values_ = 0;
};

}  // namespace

Result<Json> parse_pickle(std::string_view bytes) {
  return Machine(bytes).run();
}

}  // namespace toprun::recorder
