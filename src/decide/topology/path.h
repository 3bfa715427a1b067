#pragma once

#include <compare>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::topology {

inline constexpr std::size_t max_levels = 16;  // per network; real networks have up to five

// A host's domain at one level: it has a name, is unknown, or is `none`. `none`: the host has no
// domain at this level, because only other branches of the network have this level.
class Domain {
 public:
  Domain() = default;  // unknown
  Domain(std::nullopt_t) {}
  Domain(std::string name) : kind_(Kind::named), name_(std::move(name)) {}
  Domain(std::string_view name) : Domain(std::string(name)) {}
  Domain(const char* name) : Domain(std::string(name)) {}
  Domain(std::optional<std::string> name) {
    if (name) *this = Domain(*std::move(name));
  }
  static Domain none() {
    Domain domain;
    domain.kind_ = Kind::none;
    return domain;
  }

  // Whether the domain has a name.
  bool has_value() const { return kind_ == Kind::named; }
  explicit operator bool() const { return has_value(); }
  const std::string& operator*() const { return name_; }
  const std::string* operator->() const { return &name_; }
  std::string value_or(std::string_view other) const {
    return has_value() ? name_ : std::string(other);
  }
  std::optional<std::string> name() const {
    return has_value() ? std::optional(name_) : std::nullopt;
  }

  bool is_none() const { return kind_ == Kind::none; }
  bool is_unknown() const { return kind_ == Kind::unknown; }

  friend bool operator==(const Domain&, const Domain&) = default;
  friend auto operator<=>(const Domain&, const Domain&) = default;

 private:
  enum class Kind : unsigned char { unknown, none, named };
  Kind kind_ = Kind::unknown;
  std::string name_;  // for Kind::named
};

// The text of a level with domain `none`; the text of an unknown level is empty.
inline constexpr std::string_view written_none = "-";

// Domains from the outermost to the innermost. Two hosts share a domain if their paths are equal
// from the outermost level down to this domain. Copies of a path share their memory until one of
// them is changed, because in a network of 100,000 hosts, most hosts have the same path as their
// neighbours. Two threads must not use copies of one path at the same time.
class Path {
 public:
  using value_type = Domain;
  using const_iterator = std::vector<Domain>::const_iterator;

  Path() = default;
  explicit Path(std::size_t levels) : Path(std::vector<Domain>(levels)) {}  // all unknown
  Path(std::initializer_list<Domain> domains) : Path(std::vector<Domain>(domains)) {}
  explicit Path(std::vector<Domain> domains);
  template <class Iterator>
  Path(Iterator first, Iterator last) : Path(std::vector<Domain>(first, last)) {}

  bool empty() const { return domains().empty(); }
  std::size_t size() const { return domains().size(); }
  const Domain& operator[](std::size_t level) const { return domains()[level]; }
  const Domain& front() const { return domains().front(); }
  const Domain& back() const { return domains().back(); }
  const_iterator begin() const { return domains().begin(); }
  const_iterator end() const { return domains().end(); }

  void set(std::size_t level, Domain domain) { own()[level] = std::move(domain); }
  void push_back(Domain domain) { own().push_back(std::move(domain)); }
  void push_front(Domain domain) { own().insert(own().begin(), std::move(domain)); }
  void pop_back() { own().pop_back(); }
  void erase(std::size_t level) { own().erase(own().begin() + static_cast<std::ptrdiff_t>(level)); }

  // Returns the address of the domains in memory. Two paths have the same address only if the paths
  // are equal.
  const void* identity() const { return shared_.get(); }
  // Returns the seat: the host's position in the order of hosts in a torus or ring. Hosts and
  // domains are sorted by seats, because torus and ring are not trees. In a tree the seat is 0 for
  // all hosts, and the order of names counts.
  std::size_t seat() const { return shared_ ? shared_->seat : 0; }
  void set_seat(std::size_t seat) {
    own();
    shared_->seat = seat;
  }

  // Returns "/outer/inner/"; an unknown level is empty text between the slashes, a missing level is
  // "-".
  std::string_view text() const { return shared_ ? digest().text : std::string_view("/"); }
  // Whether at least one level has a name.
  bool known() const { return shared_ && digest().known; }

  friend bool operator==(const Path& a, const Path& b) {
    return a.shared_ == b.shared_ || a.domains() == b.domains();
  }
  friend auto operator<=>(const Path& a, const Path& b) { return a.domains() <=> b.domains(); }

 private:
  struct Shared {
    std::vector<Domain> domains;
    std::size_t seat = 0;
    // An empty `text` means that `text` and `known` are not computed yet. They are computed once
    // for all copies.
    std::string text;
    bool known = false;
  };

  const Shared& digest() const;
  const std::vector<Domain>& domains() const;
  std::vector<Domain>& own();  // for changes: memory that no other copy uses

  std::shared_ptr<Shared> shared_;  // null: empty
};

}  // namespace toprun::topology
