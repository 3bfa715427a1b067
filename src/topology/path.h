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

inline constexpr std::size_t max_levels = 16;  // of a network; real ones have up to five

// Unset: not known, and unknown is not a domain.
using Domain = std::optional<std::string>;

// Domains from the outermost inwards. Two hosts share a domain if their paths are equal down to it.
// A value: copies share their memory until one is changed, because in a network of 100,000 hosts
// most have their path in common with their neighbours. Not for two threads at once.
class Path {
 public:
  using value_type = Domain;
  using const_iterator = std::vector<Domain>::const_iterator;

  Path() = default;
  explicit Path(std::size_t levels) : Path(std::vector<Domain>(levels)) {}  // none is known
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

  // Where the domains are in memory: equal for two paths only if these are.
  const void* identity() const { return shared_.get(); }
  // "/outer/inner/", nothing between the slashes of an unknown level.
  std::string_view text() const { return shared_ ? digest().text : std::string_view("/"); }
  // Whether any level is known.
  bool known() const { return shared_ && digest().known; }

  friend bool operator==(const Path& a, const Path& b) {
    return a.shared_ == b.shared_ || a.domains() == b.domains();
  }
  friend auto operator<=>(const Path& a, const Path& b) { return a.domains() <=> b.domains(); }

 private:
  struct Shared {
    std::vector<Domain> domains;
    std::string text;  // empty: not made yet, nor is `known`; both once for all copies
    bool known = false;
  };

  const Shared& digest() const;
  const std::vector<Domain>& domains() const;
  std::vector<Domain>& own();  // to be changed: nobody else's

  std::shared_ptr<Shared> shared_;  // null: empty
};

}  // namespace toprun::topology
