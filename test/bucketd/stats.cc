#include "test/bucketd/stats.h"

#include "absl/strings/str_cat.h"

namespace bucketvol::bucketd {

Stats::Stats(int workers) : workers_count_(workers), workers_(new Worker[static_cast<size_t>(workers)]) {}

void Stats::CountRequest(int worker, OperationClass operation_class) {
  workers_[worker].requests[static_cast<size_t>(operation_class)].fetch_add(1, std::memory_order_relaxed);
}

void Stats::CountIn(int worker, uint64_t bytes) {
  workers_[worker].bytes_in.fetch_add(bytes, std::memory_order_relaxed);
}

void Stats::CountOut(int worker, uint64_t bytes) {
  workers_[worker].bytes_out.fetch_add(bytes, std::memory_order_relaxed);
}

void Stats::CountAuthFailure(int worker) {
  workers_[worker].auth_failures.fetch_add(1, std::memory_order_relaxed);
}

void Stats::Enter() {
  const int64_t now = in_flight_.fetch_add(1, std::memory_order_relaxed) + 1;
  int64_t peak = in_flight_peak_.load(std::memory_order_relaxed);
  while (now > peak && !in_flight_peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void Stats::Reset() {
  for (int i = 0; i < workers_count_; ++i) {
    for (Counter& counter : workers_[i].requests) counter.store(0, std::memory_order_relaxed);
    workers_[i].bytes_in.store(0, std::memory_order_relaxed);
    workers_[i].bytes_out.store(0, std::memory_order_relaxed);
    workers_[i].auth_failures.store(0, std::memory_order_relaxed);
  }
  connections_.store(0, std::memory_order_relaxed);
  in_flight_peak_.store(in_flight_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

uint64_t Stats::Sum(Counter Worker::*counter) const {
  uint64_t sum = 0;
  for (int i = 0; i < workers_count_; ++i) sum += (workers_[i].*counter).load(std::memory_order_relaxed);
  return sum;
}

uint64_t Stats::SumRequests(int operation_class) const {
  uint64_t sum = 0;
  for (int i = 0; i < workers_count_; ++i) {
    sum += workers_[i].requests[static_cast<size_t>(operation_class)].load(std::memory_order_relaxed);
  }
  return sum;
}

std::string Stats::ToJson() const {
  std::string json = "{\"requests\":{";
  for (int i = 0; i < kOperationClasses; ++i) {
    absl::StrAppend(&json, i == 0 ? "\"" : ",\"", NameOf(static_cast<OperationClass>(i)),
                    "\":", SumRequests(i));
  }
  absl::StrAppend(&json, "},\"bytes_out\":", Sum(&Worker::bytes_out),
                  ",\"bytes_in\":", Sum(&Worker::bytes_in),
                  ",\"connections\":", connections_.load(std::memory_order_relaxed),
                  ",\"in_flight\":", in_flight_.load(std::memory_order_relaxed),
                  ",\"in_flight_peak\":", in_flight_peak_.load(std::memory_order_relaxed),
                  ",\"auth_failures\":", Sum(&Worker::auth_failures), "}\n");
  return json;
}

}  // namespace bucketvol::bucketd
