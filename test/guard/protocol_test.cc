#include "mounter/guard/protocol.h"

#include <fcntl.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/guard/channel.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;

// What ProgressBody may look like in the next version, and may have looked like in the last one.
struct LongerProgressBody {
  ProgressBody known;
  uint64_t added = 7;
};
struct ShorterProgressBody {
  uint64_t keys = 0;
};

Message Decoded(const std::string& packet) {
  Message message;
  EXPECT_TRUE(DecodePacket(packet, message));
  return message;
}

TEST(ProtocolTest, CarriesBodyAndStrings) {
  ProgressBody sent;
  sent.keys = 10'000'000;
  sent.streams = 128;
  const Message got =
      Decoded(EncodeMessage(MessageType::kProgress, sent, {"one", "", std::string_view("a\0b", 3)}));
  EXPECT_TRUE(got.Is(MessageType::kProgress));
  EXPECT_EQ(got.BodyAs<ProgressBody>().keys, 10'000'000u);
  EXPECT_EQ(got.BodyAs<ProgressBody>().streams, 128u);
  EXPECT_THAT(got.Strings(0), ElementsAre("one", "", std::string("a\0b", 3)));
}

TEST(ProtocolTest, ALongerBodyOfANewerProgramIsCut) {
  LongerProgressBody sent;
  sent.known.keys = 5;
  sent.known.elapsed_ms = 6;
  const auto got = Decoded(EncodeMessage(MessageType::kProgress, sent)).BodyAs<ProgressBody>();
  EXPECT_EQ(got.keys, 5u);
  EXPECT_EQ(got.elapsed_ms, 6u);
}

TEST(ProtocolTest, AShorterBodyOfAnOlderProgramIsFilledWithZeros) {
  ShorterProgressBody sent;
  sent.keys = 5;
  const auto got = Decoded(EncodeMessage(MessageType::kProgress, sent)).BodyAs<ProgressBody>();
  EXPECT_EQ(got.keys, 5u);
  EXPECT_EQ(got.expected_keys, 0u);
}

TEST(ProtocolTest, MissingStringsAreEmptyAndFurtherOnesAreKept) {
  const Message got = Decoded(EncodeMessage(MessageType::kMount, MountBody{}, {"only"}));
  EXPECT_THAT(got.Strings(3), ElementsAre("only", "", ""));
}

TEST(ProtocolTest, ALongerHeaderIsSkipped) {
  std::string packet = EncodeMessage(MessageType::kProgress, ProgressBody{.keys = 9});
  const uint16_t longer = sizeof(MessageHeader) + 8;
  packet.replace(offsetof(MessageHeader, header_bytes), sizeof longer, reinterpret_cast<const char*>(&longer),
                 sizeof longer);
  packet.insert(sizeof(MessageHeader), 8, 'x');
  EXPECT_EQ(Decoded(packet).BodyAs<ProgressBody>().keys, 9u);
}

TEST(ProtocolTest, RefusesWhatIsNoPacket) {
  const std::string good = EncodeMessage(MessageType::kProgress, ProgressBody{}, {"text"});
  Message message;
  for (size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(DecodePacket(good.substr(0, cut), message)) << cut;
  EXPECT_FALSE(DecodePacket(good + "x", message));
  EXPECT_FALSE(DecodePacket("y" + good.substr(1), message));
}

TEST(ProtocolTest, ADamagedPayloadEndsAtTheDamage) {
  std::string packet = EncodeMessage(MessageType::kMount, MountBody{}, {"good", "bad"});
  packet[packet.size() - 7] = 100;  // The length of the second string.
  EXPECT_THAT(Decoded(packet).Strings(2), ElementsAre("good", ""));
}

TEST(ChannelTest, PassesMessagesAndDescriptors) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  const Channel& left = ends.value().first;
  const Channel& right = ends.value().second;
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd reader(pipe_ends[0]);
  ASSERT_TRUE(left.Send(EncodeMessage(MessageType::kStart, StartBody{.generation = 3}), {pipe_ends[1]}).ok());
  close(pipe_ends[1]);

  Message message;
  ASSERT_EQ(right.Receive(message), Channel::Received::kMessage);
  EXPECT_EQ(message.BodyAs<StartBody>().generation, 3u);
  ASSERT_EQ(message.descriptors.size(), 1u);
  EXPECT_NE(fcntl(message.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(write(message.descriptors[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 1);
}

TEST(ChannelTest, TellsNothingFromTheEnd) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  Message message;
  EXPECT_EQ(ends.value().second.Receive(message), Channel::Received::kNothing);
  ends.value().first.Close();
  EXPECT_EQ(ends.value().second.Receive(message), Channel::Received::kClosed);
}

// The kernel tells first that something was not read, and only then what had been sent.
TEST(ChannelTest, LastWordsArriveAlsoFromOneWhoHasNotReadEverything) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  const Channel listener = std::move(ends.value().second);
  {
    const Channel speaker = std::move(ends.value().first);
    ASSERT_TRUE(listener.Send(EncodePacket(MessageType::kStatus, "", "")).ok());
    ASSERT_TRUE(speaker.Send(EncodePacket(MessageType::kUnmount, "", "")).ok());
  }
  Message message;
  ASSERT_EQ(listener.Receive(message), Channel::Received::kMessage);
  EXPECT_TRUE(message.Is(MessageType::kUnmount));
  EXPECT_EQ(listener.Receive(message), Channel::Received::kClosed);
}

TEST(ChannelTest, SendingToNobodyIsAnErrorAndNoSignal) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  ends.value().second.Close();
  const Step sent = ends.value().first.Send(EncodeMessage(MessageType::kStatus, StartBody{}));
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.failure().error, EPIPE);
}

TEST(ChannelTest, AFullQueueIsAnErrorThatDoesNotWait) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  const std::string packet = EncodePacket(MessageType::kProgress, std::string(50'000, 'x'), "");
  int error = 0;
  while (error == 0) {
    const Step sent = ends.value().first.Send(packet);
    if (!sent.ok()) error = sent.failure().error;
  }
  EXPECT_EQ(error, EAGAIN);
}

}  // namespace
}  // namespace bucketvol
