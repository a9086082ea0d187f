#include "mounter/reader/reader.h"

#include <utility>

#include "mounter/reader/reader_core.h"

namespace bucketvol {

Reader::Reader(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings,
               ReaderHelpers helpers)
    : core_(std::make_unique<Core>(store, clock, metrics, std::move(settings), helpers)) {}
Reader::~Reader() = default;

void Reader::Read(const ObjectId& object, ByteRange range, const ReadContext& context, ReadCallback done) {
  core_->Read(object, range, context, std::move(done));
}
void Reader::Prefetch(const ObjectId& object, ByteRange range) { core_->Prefetch(object, range); }
void Reader::FollowOrder(std::shared_ptr<const ObjectOrder> order, OrderTrust trust) {
  core_->FollowOrder(std::move(order), trust);
}
std::vector<uint32_t> Reader::TakeTouches() { return core_->TakeTouches(); }
void Reader::Tick() { core_->Tick(); }
Reader::Memory Reader::memory() const {
  const MemoryTier& memory = core_->memory();
  return {memory.budget().limit(), memory.budget().used(), memory.mapped_bytes()};
}
size_t Reader::fetches_in_flight() const { return core_->scheduler().fetches_in_flight(); }
std::shared_ptr<CongestionObserver> Reader::congestion_observer() const {
  return core_->scheduler().load_signals();
}
std::string Reader::last_error() const { return core_->errors().last(); }

}  // namespace bucketvol
