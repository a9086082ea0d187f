#include "test/bucketd/directory_watch.h"

#include <errno.h>
#include <sys/inotify.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bucketvol::bucketd {
namespace {

constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE |
                             IN_MODIFY | IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;
constexpr uint32_t kComesOrGoes = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

}  // namespace

DirectoryWatch::DirectoryWatch(std::string top, std::shared_ptr<InotifyHub> hub)
    : top_(std::move(top)), hub_(std::move(hub)) {}

DirectoryWatch::~DirectoryWatch() { hub_->RemoveAll(this); }

bool DirectoryWatch::Add(const std::string& relative) {
  const int watch = hub_->Add(absl::StrCat(top_, "/", relative), kEvents, this);
  // A directory that is gone already needs no watch.
  if (watch < 0) return errno == ENOENT || errno == ENOTDIR;
  path_of_[watch] = relative;
  watch_of_[relative] = watch;
  return true;
}

void DirectoryWatch::Remove(const std::string& relative) {
  const std::string below = absl::StrCat(relative, "/");
  if (const auto found = watch_of_.find(relative); found != watch_of_.end()) {
    hub_->Remove(found->second);
    path_of_.erase(found->second);
    watch_of_.erase(found);
  }
  for (auto next = watch_of_.lower_bound(below);
       next != watch_of_.end() && absl::StartsWith(next->first, below);) {
    hub_->Remove(next->second);
    path_of_.erase(next->second);
    next = watch_of_.erase(next);
  }
}

void DirectoryWatch::Forget(int watch) {
  const auto found = path_of_.find(watch);
  if (found == path_of_.end()) return;
  if (const auto back = watch_of_.find(found->second); back != watch_of_.end() && back->second == watch) {
    watch_of_.erase(back);
  }
  path_of_.erase(found);
}

void DirectoryWatch::Drain(absl::FunctionRef<void(Change, const std::string&)> on_change) {
  for (const InotifyHub::Event& event : hub_->Take(this)) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) on_change(Change::kUnknown, "");
    if ((event.mask & IN_IGNORED) != 0) Forget(event.watch);
    const auto found = path_of_.find(event.watch);
    if (event.name.empty() || found == path_of_.end()) continue;
    const std::string path =
        found->second.empty() ? event.name : absl::StrCat(found->second, "/", event.name);
    if ((event.mask & IN_ISDIR) == 0) {
      on_change(Change::kFile, path);
    } else if ((event.mask & kComesOrGoes) != 0) {
      on_change(Change::kDirectory, path);
    }
  }
}

}  // namespace bucketvol::bucketd
