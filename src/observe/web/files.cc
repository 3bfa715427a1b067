#include "observe/web/files.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include <boost/beast/core/error.hpp>
#include <boost/beast/zlib/inflate_stream.hpp>

namespace toprun::web {
namespace beast = boost::beast;

namespace {

// Packed by gzip(1) when toprun was built.
constexpr unsigned char packed_html[] = {
#include "page.html.inc"
};
constexpr unsigned char packed_style[] = {
#include "page.css.inc"
};
constexpr unsigned char packed_script[] = {
#include "page.js.inc"
};

// RFC 1952, as `gzip -n` writes it: a header of 10 bytes without a name, deflated bytes, their
// checksum and size.
std::string unpacked(std::span<const unsigned char> packed) {
  constexpr std::size_t header = 10;
  constexpr std::size_t trailer = 8;
  std::uint32_t size = 0;
  std::memcpy(&size, packed.last(4).data(), sizeof size);  // little-endian, as we are
  std::string text(size, '\0');
  beast::zlib::z_params stream;
  stream.next_in = packed.data() + header;
  stream.avail_in = packed.size() - header - trailer;
  stream.next_out = text.data();
  stream.avail_out = text.size();
  beast::error_code error;
  beast::zlib::inflate_stream().write(stream, beast::zlib::Flush::finish, error);
  return text;
}

constexpr std::size_t html = 0, style = 1, script = 2;

const std::array<File, 3>& files() {
  static const std::array<File, 3> all = {
      File{"/", "text/html; charset=utf-8", unpacked(packed_html)},
      File{"/page.css", "text/css; charset=utf-8", unpacked(packed_style)},
      File{"/page.js", "text/javascript; charset=utf-8", unpacked(packed_script)}};
  return all;
}

constexpr std::string_view style_link = R"(<link rel="stylesheet" href="page.css">)";
constexpr std::string_view script_link = R"(<script src="page.js"></script>)";

// As a Content-Security-Policy names an inline style or script.
std::string hash_of(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash;
  ::crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size());
  std::array<char,
             sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)>
      words;
  ::sodium_bin2base64(words.data(), words.size(), hash.data(), hash.size(),
                      sodium_base64_VARIANT_ORIGINAL);
  return fmt::format("'sha256-{}'", words.data());
}

// JSON within a <script>: without "<" nothing in it can end it or open a comment.
std::string without_less_than(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

const File* find_file(std::string_view path) {
  const auto* const file = std::ranges::find(files(), path, &File::path);
  return file == files().end() ? nullptr : file;
}

std::string report_page(const std::string& report_json) {
  const std::string& frame = files()[html].text;
  const auto style_at = frame.find(style_link);
  const auto script_at = frame.find(script_link);
  std::string page = frame.substr(0, style_at);
  page += fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src {}; script-src {}\">\n<style>{}</style>",
      hash_of(files()[style].text), hash_of(files()[script].text), files()[style].text);
  page += frame.substr(style_at + style_link.size(), script_at - style_at - style_link.size());
  page += fmt::format("<script type=\"application/json\" id=\"report\">{}</script>\n",
                      without_less_than(report_json));
  page += fmt::format("<script>{}</script>", files()[script].text);
  page += frame.substr(script_at + script_link.size());
  return page;
}

}  // namespace toprun::web
