#include "node/output/relay.h"

#include <gtest/gtest.h>

namespace toprun::output {
namespace {

using namespace std::chrono_literals;

class RelayTest : public testing::Test {
 protected:
  static constexpr std::size_t credit_bytes = 1000;

  void SetUp() override {
    relay_->listen(this, [this] { ++reported_; });
  }

  boost::asio::io_context io_;
  std::vector<std::pair<bool, std::string>> delivered_;
  int reported_ = 0;
  std::shared_ptr<Relay> relay_ = Relay::create(
      io_,
      [this](bool is_err, std::string lines) {
        delivered_.push_back({is_err, std::move(lines)});
      },
      false, credit_bytes);
};

TEST_F(RelayTest, DeliversBatchesInOrder) {
  relay_->write(false, "a\n");
  relay_->write(false, "b\n");
  relay_->write(true, "c\n");
  relay_->write(false, "d\n");
  EXPECT_TRUE(delivered_.empty());
  io_.run_for(10s);  // returns when the timer was the last pending event
  EXPECT_EQ(delivered_, (std::vector<std::pair<bool, std::string>>{
                            {false, "a\nb\n"}, {true, "c\n"}, {false, "d\n"}}));
}

TEST_F(RelayTest, DeliversMuchAtOnce) {
  relay_->write(false, std::string(Relay::batch_bytes, 'x'));
  EXPECT_EQ(delivered_.size(), 1u);
}

TEST_F(RelayTest, HasRoomUntilTheCreditIsUsedUp) {
  relay_->write(false, std::string(credit_bytes - 1, 'x'));
  EXPECT_TRUE(relay_->room(false));
  relay_->write(true, "x");
  EXPECT_FALSE(relay_->room(false));
  EXPECT_FALSE(relay_->room(true));
  io_.run_for(10s);
  EXPECT_FALSE(relay_->room(false));  // delivered, but not yet taken
  relay_->sent(credit_bytes / 2 - 1);
  EXPECT_FALSE(relay_->room(false));
  EXPECT_EQ(reported_, 0);
  relay_->sent(1);
  EXPECT_TRUE(relay_->room(false));
  EXPECT_EQ(reported_, 1);
}

TEST_F(RelayTest, IsIdleWhenAllIsTaken) {
  EXPECT_TRUE(relay_->idle());
  relay_->write(false, "four");
  EXPECT_FALSE(relay_->idle());
  io_.run_for(10s);
  EXPECT_FALSE(relay_->idle());
  relay_->sent(4);
  EXPECT_EQ(reported_, 1);
  EXPECT_TRUE(relay_->idle());
}

TEST_F(RelayTest, HoldsNobodyUpOnceClosed) {
  relay_->write(false, std::string(credit_bytes, 'x'));
  EXPECT_FALSE(relay_->idle());
  relay_->close();
  EXPECT_EQ(reported_, 1);
  EXPECT_TRUE(relay_->idle());
  relay_->write(false, std::string(credit_bytes, 'x'));
  EXPECT_TRUE(relay_->room(false));
  io_.run_for(10s);
  EXPECT_TRUE(delivered_.empty());
}

TEST_F(RelayTest, DeliversNoMoreThanItsCredit) {
  const std::string line = std::string(299, 'x') + '\n';
  std::string written;
  for (int i = 0; i < 10; ++i) written += line;
  relay_->write(false, written);
  io_.run_for(10s);
  const auto delivered = [&] {
    std::string all;
    for (const auto& [is_err, lines] : delivered_) all += lines;
    return all;
  };
  EXPECT_EQ(delivered(), written.substr(0, 3 * line.size()));
  for (std::size_t taken = line.size(); taken <= written.size(); taken += line.size()) {
    relay_->sent(line.size());
    EXPECT_EQ(delivered(), written.substr(0, 3 * line.size() + taken));
  }
  EXPECT_TRUE(relay_->idle());
}

TEST_F(RelayTest, DeliversALineThatIsLongerThanItsCreditAlone) {
  const std::string longer = std::string(2 * credit_bytes, 'x') + '\n';
  relay_->write(false, "a\n");
  relay_->write(false, longer);
  relay_->write(true, "b\n");
  io_.run_for(10s);
  relay_->sent(2);
  relay_->sent(longer.size());
  EXPECT_EQ(delivered_, (std::vector<std::pair<bool, std::string>>{
                            {false, "a\n"}, {false, longer}, {true, "b\n"}}));
}

TEST(RelayCredit, IsBoundedInTotal) {
  EXPECT_EQ(Relay::credit_among(0), Relay::default_credit_bytes);
  EXPECT_EQ(Relay::credit_among(64), Relay::default_credit_bytes);
  EXPECT_EQ(Relay::credit_among(4'000), Relay::total_credit_bytes / 4'000);
  EXPECT_LE(12'500 * Relay::credit_among(12'500), Relay::total_credit_bytes);
  EXPECT_EQ(Relay::credit_among(1'000'000), Relay::least_credit_bytes);
}

}  // namespace
}  // namespace toprun::output
