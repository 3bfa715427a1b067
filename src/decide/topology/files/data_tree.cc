#include "decide/topology/files/data_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

// The libraries' parsers have no other way to stop than an exception.
struct Refusal : std::exception {
  Refusal(Position at, std::string reason, std::string advice)
      : where(at), why(std::move(reason)), fix(std::move(advice)) {}

  Position where;
  std::string why, fix;
};

// Builds the tree from a parser's events.
class Builder {
 public:
  DataNode take() { return std::exchange(root_, {}); }

  void text(Position where, std::string text, bool is_string) {
    put({Kind::text, where, std::move(text), {}, {}, is_string});
  }
  void empty(Position where) { put({Kind::empty, where, {}, {}, {}}); }

  void open(Position where, Kind kind) {
    if (open_.size() == max_data_depth) {
      throw Refusal(where, fmt::format("nested more than {} deep", max_data_depth), {});
    }
    // The pointers in open_ stay valid: only the innermost open node gets new items.
    open_.push_back(put({kind, where, {}, {}, {}}));
  }

  void close() {
    if (open_.back()->kind == Kind::table) refuse_repeated_keys(*open_.back());
    open_.pop_back();
  }

 private:
  // In a table, keys and values alternate.
  DataNode* put(DataNode node) {
    if (++nodes_ > max_data_nodes) {
      throw Refusal(node.where, fmt::format("more than {} values and keys", max_data_nodes),
                    "write host lists such as n[0-99] instead of single names");
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    DataNode& parent = *open_.back();
    if (parent.kind == Kind::table && parent.keys.size() == parent.items.size()) {
      if (node.kind != Kind::text) {
        throw Refusal(node.where, "a key that is not a string", "write KEY: VALUE");
      }
      parent.keys.push_back({std::move(node.text), node.where});
      return nullptr;
    }
    parent.items.push_back(std::move(node));
    return &parent.items.back();
  }

  static void refuse_repeated_keys(const DataNode& table) {
    std::vector<const DataNode::Key*> keys;
    for (const DataNode::Key& key : table.keys) keys.push_back(&key);
    std::ranges::stable_sort(keys, {}, [](const auto* key) { return std::string_view(key->name); });
    const auto repeated = std::ranges::adjacent_find(keys, {}, &DataNode::Key::name);
    if (repeated == keys.end()) return;
    throw Refusal(repeated[1]->where,
                  fmt::format("{} appears twice, first at {}:{}", repeated[0]->name,
                              repeated[0]->where.line, repeated[0]->where.column),
                  "remove one of the two");
  }

  DataNode root_;
  std::vector<DataNode*> open_;
  std::size_t nodes_ = 0;
};

// Whether the text nests brackets too deeply. The YAML library reads on until it knows whether the
// text in brackets is a key, and needs 250 bytes for each bracket in it. The count includes
// brackets in quoted texts and comments: the limit is far above real files.
bool nests_brackets_deeply(std::string_view text) {
  constexpr int deep = 1000;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > deep) return true;
  }
  return false;
}

Position position(const YAML::Mark& mark) {
  return {static_cast<std::size_t>(std::max(mark.line, 0)) + 1,
          static_cast<std::size_t>(std::max(mark.column, 0)) + 1};
}

class YamlEvents : public YAML::EventHandler {
 public:
  std::vector<DataNode> take() { return std::move(documents_); }

  // yaml-cpp 0.7 finds one empty document after another where a comma begins one.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (last_start_ == mark.pos) {
      throw Refusal(position(mark), "this text does not begin a value", "see https://yaml.org");
    }
    last_start_ = mark.pos;
  }
  void OnDocumentEnd() override {
    DataNode document = builder_.take();
    if (document.kind != Kind::empty) documents_.push_back(std::move(document));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { builder_.empty(position(mark)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal(position(mark), "aliases are not supported", "write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    builder_.text(position(mark), value, true);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    builder_.open(position(mark), Kind::list);
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    builder_.open(position(mark), Kind::table);
  }
  void OnMapEnd() override { builder_.close(); }

 private:
  Builder builder_;
  std::vector<DataNode> documents_;
  std::optional<int> last_start_;  // of a document
};

// The current position in a text.
struct Reading {
  Position next;                // of the next character
  std::size_t line_before = 0;  // length of the previous line in columns, with its line end

  // The start of the last `length` characters, which are all in one line.
  Position before(std::size_t length) const {
    if (next.column > length) return {next.line, next.column - length};
    if (next.line == 1 || line_before < length) return {next.line, 1};
    return {next.line - 1, line_before + next.column - length};
  }
};

// The characters of a text with a line count, because the JSON library reports no positions.
class CountedText {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedText(const char* at, Reading* reading) : at_(at), reading_(reading) {}

  reference operator*() const { return *at_; }
  CountedText& operator++() {
    Position& next = reading_->next;
    if (*at_ == '\n') {
      reading_->line_before = next.column;
      ++next.line;
      next.column = 1;
    } else {
      ++next.column;
    }
    ++at_;
    return *this;
  }
  CountedText operator++(int) {
    CountedText before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedText& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  Reading* reading_;
};

class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonEvents(Builder& builder, const Reading& reading) : builder_(builder), reading_(reading) {}

  bool null() override {
    builder_.empty(reading_.before(4));
    return true;
  }
  bool boolean(bool value) override {
    const std::string_view text = value ? "true" : "false";
    builder_.text(reading_.before(text.size()), std::string(text), false);
    return true;
  }
  bool number_integer(number_integer_t value) override { return number(fmt::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(fmt::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return number(text); }
  bool string(string_t& text) override {
    const Position where = reading_.before(text.size() + 2);
    builder_.text(where, std::move(text), true);
    return true;
  }
  bool binary(binary_t&) override { return false; }  // does not occur in JSON
  bool start_object(std::size_t) override {
    builder_.open(reading_.before(1), Kind::table);
    return true;
  }
  bool key(string_t& text) override { return string(text); }
  bool end_object() override {
    builder_.close();
    return true;
  }
  bool start_array(std::size_t) override {
    builder_.open(reading_.before(1), Kind::list);
    return true;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: what is wrong"
    const std::string_view message = error.what();
    const std::size_t behind_place = message.find(": ", message.find("column "));
    throw Refusal(reading_.before(1),
                  fmt::format("this is not JSON: {}", behind_place == std::string_view::npos
                                                          ? message
                                                          : message.substr(behind_place + 2)),
                  {});
  }

 private:
  bool number(std::string text) {
    // the character after it is read already
    const Position where = reading_.before(text.size() + 1);
    builder_.text(where, std::move(text), false);
    return true;
  }

  Builder& builder_;
  const Reading& reading_;
};

}  // namespace

const DataNode* DataNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &Key::name);
  if (found == keys.end()) return nullptr;
  const DataNode& value = items[static_cast<std::size_t>(found - keys.begin())];
  return value.kind == Kind::empty ? nullptr : &value;
}

std::string text_or_empty(const DataNode* node) {
  return node && node->kind == DataNode::Kind::text ? node->text : std::string();
}

const DataNode* value_at(const DataNode* node, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) node = node ? node->find(key) : nullptr;
  return node;
}

Result<std::vector<DataNode>> parse_yaml_documents(std::string_view text, const std::string& file) {
  if (text.size() > max_yaml_bytes) {
    return usage(file, fmt::format("the file has more than {} bytes of YAML", max_yaml_bytes),
                 "write host lists such as n[0-99] instead of single names");
  }
  if (nests_brackets_deeply(text)) {
    return usage(file, fmt::format("brackets are nested more than {} levels deep", max_data_depth),
                 {});
  }
  YamlEvents events;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Refusal& refusal) {
    return usage(at(file, refusal.where), refusal.why, refusal.fix);
  } catch (const YAML::Exception& error) {
    return usage(at(file, position(error.mark)), error.msg, "see https://yaml.org");
  }
  return events.take();
}

Result<DataNode> parse_yaml(std::string_view text, const std::string& file) {
  auto documents = TRY(parse_yaml_documents(text, file));
  if (documents.empty()) return DataNode{};
  if (documents.size() == 1) return std::move(documents.front());
  return usage(at(file, documents[1].where), "the file contains a second document",
               "write each document into its own file");
}

Result<DataNode> parse_json(std::string_view text, const std::string& file) {
  if (text.size() > max_json_bytes) {
    return usage(file, fmt::format("the file has more than {} bytes of JSON", max_json_bytes),
                 "write host lists such as n[0-99] instead of single names");
  }
  Builder builder;
  Reading reading;
  JsonEvents events(builder, reading);
  try {
    nlohmann::json::sax_parse(CountedText(text.data(), &reading),
                              CountedText(text.data() + text.size(), &reading), &events);
  } catch (const Refusal& refusal) {
    return usage(at(file, refusal.where), refusal.why, refusal.fix);
  }
  return builder.take();
}

}  // namespace toprun::topology
