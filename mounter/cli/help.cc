#include "mounter/cli/help.h"

namespace bucketvol {

absl::string_view HelpText() {
  return R"(bucketvol mounts object-storage buckets.

  bucketvol mount SOURCE MOUNTPOINT [-o OPTION[,OPTION…]] [--foreground]
  bucketvol umount MOUNTPOINT [--lazy|--force]
  bucketvol status [MOUNTPOINT] [--json]
  bucketvol upgrade MOUNTPOINT|--all [--program FILE]
  bucketvol credentials MOUNTPOINT [-o passwd_file=FILE|profile=NAME|anonymous]
  bucketvol index build SOURCE --out DIR [-o OPTION[,OPTION…]]
  bucketvol index show DIR|FILE [--json]
  bucketvol version [--json]
  bucketvol help [options]

SOURCE is oss://BUCKET[/PATH] or s3://BUCKET[/PATH]. The most used options:

  url=ENDPOINT          where the bucket is served: https://oss-cn-hangzhou.aliyuncs.com, http://127.0.0.1:9000
  passwd_file=FILE      ID:SECRET or BUCKET:ID:SECRET, one a line; mode 0600
  anonymous             sends requests without a signature
  index_max_age=1h      reuses an index on disk up to this age instead of listing again
  umask=022             takes permissions away from files (0666) and directories (0777)

`bucketvol help options` has all of them. Without passwd_file, credentials come from OSS_ACCESS_KEY_ID and
OSS_ACCESS_KEY_SECRET, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials or ~/.ossutilconfig.

An image volume shows the bucket as it was listed. Example:

  sudo -E bucketvol mount oss://photos/2024 /mnt -o url=https://oss-cn-hangzhou.aliyuncs.com
  find /mnt -type f | wc -l
  bucketvol status /mnt
  sudo bucketvol umount /mnt

Exit codes: 0 done, 1 failed, 2 wrong usage or option, 32 failed when called by mount(8), 130 interrupted.
)";
}

}  // namespace bucketvol
