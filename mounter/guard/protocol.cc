#include "mounter/guard/protocol.h"

namespace bucketvol {
namespace {

uint32_t LengthAt(std::string_view bytes) {
  uint32_t length;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

}  // namespace

std::vector<std::string> Message::Strings(size_t count) const {
  std::vector<std::string> strings;
  std::string_view rest = payload;
  while (rest.size() >= sizeof(uint32_t)) {
    const uint32_t length = LengthAt(rest);
    rest.remove_prefix(sizeof(uint32_t));
    if (length > rest.size()) break;
    strings.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (strings.size() < count) strings.resize(count);
  return strings;
}

std::string JoinStrings(const std::vector<std::string_view>& strings) {
  std::string out;
  for (const std::string_view text : strings) {
    const auto length = static_cast<uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out.append(text);
  }
  return out;
}

std::string EncodePacket(MessageType type, std::string_view body, std::string_view payload) {
  MessageHeader header;
  header.type = static_cast<uint16_t>(type);
  header.header_bytes = sizeof header;
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  packet.append(body);
  packet.append(payload);
  return packet;
}

bool DecodePacket(std::string_view packet, Message& out) {
  MessageHeader header;
  if (packet.size() < sizeof header) return false;
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.magic != MessageHeader::kMagic || header.header_bytes < sizeof header) return false;
  const uint64_t whole = uint64_t{header.header_bytes} + header.body_bytes + header.payload_bytes;
  if (whole != packet.size()) return false;
  out.type = header.type;
  out.body = packet.substr(header.header_bytes, header.body_bytes);
  out.payload = packet.substr(header.header_bytes + header.body_bytes);
  return true;
}

}  // namespace bucketvol
