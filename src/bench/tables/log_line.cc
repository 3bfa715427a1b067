#include <algorithm>
#include <array>
#include <cstddef>

#include "bench/tables/import.h"

namespace toprun::bench {
namespace {

constexpr char escape = '\x1b';
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view hard_blank = "\xc2\xa0";  // a web page's

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_of_a_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The bytes of the escape sequence that `text` begins with (ECMA-48); 0: none.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with(escape)) return 0;
  if (text.size() < 2) return 1;
  if (text[1] == ']') {  // an operating system command, such as a title or a link
    const std::size_t end = text.find_first_of("\a\x1b", 2);
    if (end == text.npos) return text.size();
    return end + (text[end] == escape ? 2 : 1);
  }
  if (text[1] != '[') return 2;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

// Takes the parts of a time from the start of a text; what does not fit is left there.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool digits(std::size_t least, std::size_t most) {
    std::size_t n = 0;
    while (n < text_.size() - at_ && is_digit(text_[at_ + n])) ++n;
    if (n < least || n > most) return false;
    at_ += n;
    return true;
  }
  bool one_of(std::string_view characters) {
    if (at_ >= text_.size() || !characters.contains(text_[at_])) return false;
    ++at_;
    return true;
  }
  template <std::size_t size>
  bool name(const std::array<std::string_view, size>& names) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      if (!text_.substr(at_).starts_with(name)) return false;
      at_ += name.size();
      return true;
    });
  }
  void blanks() {
    while (one_of(" ")) continue;
  }

  // Whether what follows cannot belong to the same word.
  bool ends() const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    if (rest.empty()) return true;
    const bool goes_on = (rest[0] == ':' || rest[0] == '.') && rest.size() > 1;
    return !is_of_a_word(rest[0]) && !(goes_on && is_of_a_word(rest[1]));
  }
  std::size_t length() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 7> weekdays = {"Mon", "Tue", "Wed", "Thu",
                                                      "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Each takes what it names, or leaves the cursor where it was.
template <class Take>
bool whole(Cursor& cursor, Take take) {
  Cursor tried = cursor;
  if (!take(tried)) return false;
  cursor = tried;
  return true;
}

// "16:39:51", "16:39:51.218Z", "16:39:51,2 +02:00".
bool take_time(Cursor& cursor) {
  return whole(cursor, [](Cursor& c) {
    const bool is_time =
        c.digits(2, 2) && c.one_of(":") && c.digits(2, 2) && c.one_of(":") && c.digits(2, 2);
    if (!is_time) return false;
    whole(c, [](Cursor& fraction) { return fraction.one_of(".,") && fraction.digits(1, 9); });
    if (c.one_of("Z")) return true;
    whole(c, [](Cursor& zone) {
      zone.blanks();
      if (!zone.one_of("+-") || !zone.digits(2, 4)) return false;
      whole(zone, [](Cursor& minutes) { return minutes.one_of(":") && minutes.digits(2, 2); });
      return true;
    });
    return true;
  });
}

// "2026-05-16", "16/05/2026".
bool take_date(Cursor& cursor) {
  const auto in = [&](std::size_t first, std::size_t last) {
    return whole(cursor, [&](Cursor& c) {
      return c.digits(first, first) && c.one_of("-/.") && c.digits(2, 2) && c.one_of("-/.") &&
             c.digits(last, last);
    });
  };
  return in(4, 2) || in(2, 4);
}

// "Fri May  6", "Nov 28".
bool take_named_date(Cursor& cursor) {
  return whole(cursor, [](Cursor& c) {
    if (c.name(weekdays)) c.blanks();
    if (!c.name(months)) return false;
    c.blanks();
    return c.digits(1, 2);
  });
}

bool take_day_and_time(Cursor& cursor) {
  return whole(cursor, [](Cursor& c) {
    if (take_date(c)) {
      if (!c.one_of("T _,")) return false;
      c.blanks();
      return take_time(c);
    }
    if (!take_named_date(c)) return false;
    c.blanks();
    if (!take_time(c)) return false;
    whole(c, [](Cursor& year) { return year.one_of(" ") && year.digits(4, 4) && year.ends(); });
    return true;
  });
}

// Seconds since 1970 or since the start: "1764315833", "12.345678".
bool take_seconds(Cursor& cursor) {
  const auto fraction = [](Cursor& c) { return c.one_of(".") && c.digits(3, 9); };
  return whole(cursor,
               [&](Cursor& c) { return c.digits(10, 19) && (whole(c, fraction) || true); }) ||
         whole(cursor, [&](Cursor& c) { return c.digits(1, 9) && fraction(c); });
}

// The bytes of the time that stands at this place of a prefix; 0: none.
std::size_t time_length(std::string_view prefix, std::size_t at) {
  if (at > 0 && (is_of_a_word(prefix[at - 1]) || prefix[at - 1] == '.' || prefix[at - 1] == ':')) {
    return 0;
  }
  for (const auto take : {take_day_and_time, take_time, take_seconds}) {
    Cursor cursor(prefix.substr(at));
    if (take(cursor) && cursor.ends()) return cursor.length();
  }
  return 0;
}

}  // namespace

std::string_view shown_text(std::string_view line, std::string& buffer) {
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  if (line.find_first_of("\x1b\xc2") != line.npos) {
    buffer.clear();
    while (!line.empty()) {
      if (const std::size_t length = escape_length(line); length > 0) {
        line.remove_prefix(length);
        continue;
      }
      const bool is_blank = line.starts_with(hard_blank);
      buffer += is_blank ? ' ' : line.front();
      line.remove_prefix(is_blank ? hard_blank.size() : 1);
    }
    line = buffer;
  }
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 is 0
}

std::string_view without_closing(std::string_view line) {
  constexpr std::string_view end_in_json = "\\n\"";  // {"log":"…\n","stream":"stdout"}
  line = line.substr(0, line.find(end_in_json));
  return line.substr(0, line.find_last_not_of(" \t\",|") + 1);  // npos + 1 is 0
}

std::string writer_of(std::string_view prefix) {
  std::string out;
  for (std::size_t at = 0; at < prefix.size();) {
    if (const std::size_t length = time_length(prefix, at); length > 0) {
      at += length;
      continue;
    }
    if (prefix[at] != ' ' && prefix[at] != '\t') out += prefix[at];
    ++at;
  }
  return out;
}

}  // namespace toprun::bench
