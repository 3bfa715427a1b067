#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "node/agent/publish/job_picture.h"
#include "node/plan/job.h"
#include "observe/web/server.h"

namespace toprun::publish {

// --web: what the root shows to browsers. While one looks, the picture is written about once a
// second and as soon as something happens; while none does, nothing is.
class JobPage : public web::Source {
 public:
  // Prints the page's address, or why there is none: the job goes on without. Null: none.
  // Both references must outlive this.
  static std::unique_ptr<JobPage> open(boost::asio::io_context& io, const plan::Job& job,
                                       JobPicture& picture);
  JobPage(boost::asio::io_context& io, JobPicture& picture);
  ~JobPage() override;

  // Closes when those who see it have its last text.
  boost::asio::awaitable<void> finish();

  web::Text text(web::Part part) override;
  void looked_at(bool by_somebody) override;
  boost::asio::awaitable<std::optional<web::Page>> page(std::string path) override;

 private:
  boost::asio::awaitable<void> follow(std::shared_ptr<JobPage*> self);
  void take(JobPicture::Parts parts);
  void take(web::Part part, std::string text);

  boost::asio::io_context& io_;
  JobPicture& picture_;
  const std::shared_ptr<JobPage*> self_;  // points to null once this is gone
  std::unique_ptr<web::Server> server_;
  std::array<web::Text, web::part_names.size()> texts_;
  bool is_seen_ = false;
  bool follows_ = false;
};

}  // namespace toprun::publish
