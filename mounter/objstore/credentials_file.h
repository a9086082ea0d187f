#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/credentials_source.h"

namespace bucketvol {

/// Reads credentials from `file` now. NotFound: no such file, or nothing for the selector in it.
/// PermissionDenied: a password file that others may read. InvalidArgument: it must be corrected. No message
/// holds a secret.
absl::StatusOr<Credentials> LoadCredentialFile(const CredentialFile& file);

/// What identifies the content of some files without reading it.
struct FileStamp {
  struct One {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;  // -1: not there.
    absl::Time modified = absl::InfinitePast();
    absl::Time changed = absl::InfinitePast();

    friend bool operator==(const One&, const One&) = default;
  };
  std::vector<One> files;

  static FileStamp Of(const std::vector<std::string>& paths);
  absl::Time newest() const;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Credentials from a file that is read again when it changes.
///
/// A change is looked for by stat at most every ten seconds, and read at once after Reject, whatever stat
/// says. What cannot be read, or not as a whole, changes nothing: the credentials before stay in use and the
/// file is tried again. A file younger than a second may be half written and is left alone for that long. Of
/// a token directory only AccessKeyId is watched: whoever rotates the files writes it last.
class FileCredentials final : public CredentialProvider {
 public:
  /// `initial` is used until the first change, also where this process may not read the file. `clock`
  /// outlives this.
  FileCredentials(CredentialFile file, Credentials initial, const Clock& clock);

  absl::StatusOr<Credentials> Get() override;
  void Reject(const Credentials& refused) override;

 private:
  enum class Urgency { kWhenChanged, kNow };

  /// Looks at the file, reads it if that is due, and ends the refresh that the caller began.
  void Refresh(Urgency urgency);
  /// Returns after how long the file is to be looked at again.
  absl::Duration LookAt(Urgency urgency);
  absl::Duration Read(const FileStamp& watched);
  void Keep(const absl::Status& error);

  const CredentialFile file_;
  const std::vector<std::string> watched_;  // What a change is looked for in.
  const std::vector<std::string> read_;     // What is read.
  const Clock& clock_;
  absl::Mutex mu_;  // Leaf: the file is read without it.
  bool refreshing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Duration next_look_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();  // On the clock's Elapsed().
  FileStamp stamp_ ABSL_GUARDED_BY(mu_);         // Of the watched files when current_ was read from them.
  std::string last_error_ ABSL_GUARDED_BY(mu_);  // Logged once, not at every look.
  Credentials current_ ABSL_GUARDED_BY(mu_);
};

/// The provider for credentials found by ResolveCredentials. `clock` outlives it.
std::unique_ptr<CredentialProvider> MakeCredentialProvider(const CredentialSource& source,
                                                           const Clock& clock);

}  // namespace bucketvol
