#include <nlohmann/json.hpp>

#include "run/simulation/world.h"

// Messages as their other end reads them, with the names and numbers of large jobs.
namespace toprun::simulation {
namespace {

nlohmann::json sent(const nlohmann::json& message) {
  return nlohmann::json::parse(message.dump());
}

}  // namespace

// The times of an exit go by the real clock.
model::ToRoot World::as_read(model::ToRoot&& message) {
  auto read = model::to_root_in(sent(model::to_wire(message)));
  const bool is_known = read && *read && (*read)->what.index() == message.what.index();
  expect(is_known, "a message to the root is not read: {}", read ? "" : read.error().line());
  if (!is_known || std::holds_alternative<Shared<model::WorkerExit>>(message.what)) {
    return std::move(message);
  }
  expect((*read)->attempt == message.attempt, "a message is of another attempt");
  return **std::move(read);
}

model::ToNode World::as_read(model::ToNode&& message) {
  auto read = model::to_node_in(sent(model::to_wire(message)));
  const bool is_known = read && *read && (*read)->index() == message.index();
  expect(is_known, "a message to a node is not read: {}", read ? "" : read.error().line());
  return is_known ? **std::move(read) : std::move(message);
}

}  // namespace toprun::simulation
