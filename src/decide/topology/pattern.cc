#include "decide/topology/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

namespace toprun::topology {

const unsigned char* pcre2_units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

struct Pattern::Parts {
  ~Parts() {
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
  }
  pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* limits = nullptr;
};

std::expected<Pattern, std::string> Pattern::compile(std::string_view text) {
  if (text.size() > max_pattern_bytes) {
    return std::unexpected(fmt::format("it is longer than {} bytes", max_pattern_bytes));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto parts = std::make_shared<Parts>();
  parts->code = pcre2_compile(pcre2_units(text), text.size(), PCRE2_NEVER_BACKSLASH_C, &error,
                              &offset, nullptr);
  if (!parts->code) {
    return std::unexpected(fmt::format("column {}: {}", offset + 1, pcre2_message(error)));
  }
  parts->data = pcre2_match_data_create_from_pattern(parts->code, nullptr);
  parts->limits = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(parts->limits, max_pattern_steps);
  Pattern pattern;
  pattern.parts_ = std::move(parts);
  return pattern;
}

bool Pattern::finds(std::string_view name) const {
  return pcre2_match(parts_->code, pcre2_units(name), name.size(), 0, 0, parts_->data,
                     parts_->limits) >= 0;
}

}  // namespace toprun::topology
