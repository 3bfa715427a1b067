#include "decide/topology/pattern.h"

#include <array>

namespace toprun::topology {

namespace {

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Pattern::Parts::~Parts() {
  pcre2_match_context_free(limits);
  pcre2_match_data_free(data);
  pcre2_code_free(code);
}

std::expected<Pattern, std::string> Pattern::compile(std::string_view text, std::size_t before) {
  if (text.size() > max_pattern_bytes) {
    return std::unexpected(fmt::format("it is longer than {} bytes", max_pattern_bytes));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto parts = std::make_shared<Parts>();
  parts->code =
      pcre2_compile(units(text), text.size(), PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (!parts->code) {
    return std::unexpected(fmt::format("column {}: {}", offset + before + 1, pcre2_message(error)));
  }
  parts->data = pcre2_match_data_create_from_pattern(parts->code, nullptr);
  parts->limits = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(parts->limits, max_pattern_steps);
  Pattern pattern;
  pattern.parts_ = std::move(parts);
  return pattern;
}

int Pattern::match(std::string_view name) const {
  return pcre2_match(parts_->code, units(name), name.size(), 0, 0, parts_->data, parts_->limits);
}

}  // namespace toprun::topology
