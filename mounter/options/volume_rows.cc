#include "mounter/options/option_rows.h"

namespace bucketvol {
namespace {

bool IsProfileName(absl::string_view text) { return text.find_first_of("[]\r\n") == absl::string_view::npos; }

OptionRow SecretRow(std::string name, std::vector<std::string> aliases, std::string help) {
  return {.name = std::move(name),
          .aliases = std::move(aliases),
          .section = OptionSection::kCredentials,
          .help = std::move(help),
          .value = IgnoredValue(),
          .use = OptionUse::kSecret,
          .may_hold_secret = true};
}

OptionRow IgnoredMountRow(std::string name, std::vector<std::string> aliases, std::string help) {
  return {.name = std::move(name),
          .aliases = std::move(aliases),
          .section = OptionSection::kMount,
          .help = std::move(help),
          .value = IgnoredValue(),
          .use = OptionUse::kWords};
}

void AppendIndexRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kIndex;
  table.push_back(
      {.name = "index_fs",
       .section = kSection,
       .help = "file system of the image; auto is erofs if the kernel has it",
       .value = ChoiceValue<IndexFs>(
           LetterCase::kAny, {{"auto", IndexFs::kAuto}, {"erofs", IndexFs::kErofs}, {"ext4", IndexFs::kExt4}},
           &VolumeOptions::index_fs),
       .kinds = OptionKinds::kImage});
  table.push_back(
      {.name = "transport",
       .section = kSection,
       .help =
           "how the image reaches the kernel: by a loop device or mounted as a file (Linux 6.12 or later)",
       .value = ChoiceValue<TransportKind>(
           LetterCase::kAny,
           {{"auto", TransportKind::kAuto}, {"loop", TransportKind::kLoop}, {"file", TransportKind::kFile}},
           &VolumeOptions::transport),
       .kinds = OptionKinds::kImage});
  table.push_back(
      {.name = "index_max_age",
       .section = kSection,
       .help = "use an index on disk up to this age at a first mount; 0 lists again",
       .value = TimeValue(absl::ZeroDuration(), absl::Hours(24) * 36'500, &VolumeOptions::index_max_age),
       .kinds = OptionKinds::kImage,
       .own = true});
  table.push_back({.name = "list_streams",
                   .section = kSection,
                   .help = "most list requests in flight; auto adapts between 16 and 128",
                   .value = CountValue("auto", 1, 1024, &VolumeOptions::list_streams),
                   .kinds = OptionKinds::kImage,
                   .own = true});
}

void AppendNodeRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kNode;
  table.push_back({.name = "state_dir",
                   .section = kSection,
                   .help = "where indexes and caches are kept",
                   .value = PathValue("DIR", &VolumeOptions::state_dir),
                   .use = OptionUse::kCommandLine});
  table.push_back({.name = "run_dir",
                   .section = kSection,
                   .help = "where control sockets are kept",
                   .value = PathValue("DIR", &VolumeOptions::run_dir),
                   .use = OptionUse::kCommandLine,
                   .own = true});
  table.push_back({.name = "log_level",
                   .section = kSection,
                   .help = "least important messages that are logged",
                   .value = ChoiceValue<std::string>(LetterCase::kAny,
                                                     {{"debug", "debug"},
                                                      {"info", "info"},
                                                      {"warning", "warning"},
                                                      {"error", "error"},
                                                      {"warn", "warning", false},
                                                      {"err", "error", false}},
                                                     &VolumeOptions::log_level)});
}

}  // namespace

void AppendCredentialRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kCredentials;
  table.push_back({.name = "passwd_file",
                   .section = kSection,
                   .help = "file of lines ID:SECRET or BUCKET:ID:SECRET, or directory of token files",
                   .value = PathValue("PATH", &VolumeOptions::passwd_file),
                   .use = OptionUse::kPermitted,
                   .default_text = "see credentials.md",
                   .identity = true});
  table.push_back(
      {.name = "profile",
       .section = kSection,
       .help = "profile of ~/.aws/credentials or ~/.ossutilconfig; goes before the environment",
       .value = CheckedTextValue("NAME", "a name without brackets", &VolumeOptions::profile, IsProfileName),
       .use = OptionUse::kPermitted,
       .default_text = "AWS_PROFILE, else default",
       .identity = true});
  table.push_back({.name = "anonymous",
                   .section = kSection,
                   .help = "send unsigned requests: for public buckets",
                   .value = FlagValue(&VolumeOptions::anonymous),
                   .identity = true});
  table.push_back({.name = "public_bucket",
                   .section = kSection,
                   .help = "the same as anonymous",
                   .value = FlagValue(&VolumeOptions::anonymous),
                   .setting = "anonymous",
                   .identity = true});
  table.push_back(SecretRow("akId", {"AccessKeyId", "oss_access_key_id", "key_id"}, "access key id"));
  table.push_back(SecretRow("akSecret",
                            {"AccessKeySecret", "secretAccessKey", "oss_access_key_secret", "access_key"},
                            "access key secret"));
  table.push_back(SecretRow("SecurityToken", {"session_token"}, "session token of temporary credentials"));
}

void AppendContentRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kContent;
  table.push_back({.name = "umask",
                   .section = kSection,
                   .help = "permissions taken away from every file (of 0666) and directory (of 0777)",
                   .value = PermissionsValue(&VolumeOptions::umask),
                   .seen = true});
  table.push_back({.name = "uid",
                   .section = kSection,
                   .help = "owner of every file",
                   .value = IdValue("NUMBER", &VolumeOptions::uid),
                   .seen = true});
  table.push_back({.name = "gid",
                   .section = kSection,
                   .help = "group of every file",
                   .value = IdValue("NUMBER", &VolumeOptions::gid),
                   .seen = true});
  table.push_back({.name = "allow_other",
                   .section = kSection,
                   .help = "let all users in; an image always does",
                   .value = FlagValue(&VolumeOptions::allow_other),
                   .own = true});
  table.push_back({.name = "allow_empty",
                   .section = kSection,
                   .help = "mount although no key begins with path",
                   .value = FlagValue(&VolumeOptions::allow_empty),
                   .kinds = OptionKinds::kImage});
  table.push_back({.name = "directMode",
                   .section = kSection,
                   .help = "no prefetch and no local data cache: for random reads of small files",
                   .value = FlagValue(&VolumeOptions::direct_mode)});
  table.push_back(
      {.name = "prefetch_order",
       .section = kSection,
       .help = "file of the mount with one path in each line: fetch small files ahead in that order",
       .value = TextValue("PATH", &VolumeOptions::prefetch_order),
       .kinds = OptionKinds::kImage,
       .default_text = "none"});
  AppendIndexRows(table);
}

void AppendLimitRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kLimits;
  table.push_back({.name = "resourceLimit",
                   .section = kSection,
                   .help = "most processors and memory of the volume's worker, in cores and GiB",
                   .value = ResourceLimitValue(&VolumeOptions::resource_limit)});
  table.push_back(
      {.name = "memory_budget",
       .section = kSection,
       .help = "most memory for data in flight, fetched ahead and kept; auto is half of the limit",
       .value = SizeValue("auto", 16 << 20, uint64_t{1} << 40, &VolumeOptions::memory_budget)});
  table.push_back(
      {.name = "node_memory_budget",
       .section = kSection,
       .help =
           "most memory for data of all mounts together, as far as no limit or budget was asked for; auto "
           "is half of the machine",
       .value = SizeValue("auto", 64 << 20, uint64_t{1} << 50, &VolumeOptions::node_memory_budget),
       .use = OptionUse::kCommandLine});
  table.push_back(
      {.name = "node_memory_limit",
       .section = kSection,
       .help = "most memory of all workers of the node together, which the kernel holds them to",
       .value = SizeValue("none", 256 << 20, uint64_t{1} << 50, &VolumeOptions::node_memory_limit),
       .use = OptionUse::kCommandLine});
  table.push_back({.name = "request_rate",
                   .section = kSection,
                   .help = "most requests per second to the service; 0 is no limit",
                   .value = RateValue(&VolumeOptions::request_rate)});
  table.push_back(
      {.name = "connect_timeout",
       .section = kSection,
       .help = "longest wait for a connection",
       .value = TimeValue(absl::Milliseconds(100), absl::Minutes(5), &VolumeOptions::connect_timeout)});
  table.push_back(
      {.name = "request_timeout",
       .section = kSection,
       .help = "longest wait of a reader, retries included, before it gets an I/O error",
       .value = TimeValue(absl::Seconds(1), absl::Seconds(110), &VolumeOptions::request_timeout)});
  AppendNodeRows(table);
}

void AppendMountRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kMount;
  table.push_back({.name = "ro",
                   .section = kSection,
                   .help = "read-only, which an image always is",
                   .value = FlagValue(&VolumeOptions::read_only),
                   .use = OptionUse::kWords,
                   .own = true});
  table.push_back(
      {.name = "rw",
       .section = kSection,
       .help = "read and write; refused for an image, but for the one that mount(8) adds by itself",
       .value = InvertedFlagValue(&VolumeOptions::read_only),
       .use = OptionUse::kWords,
       .setting = "ro"});
  table.push_back(IgnoredMountRow("auto",
                                  {"noauto", "user", "nouser", "users", "_netdev", "nofail", "defaults"},
                                  "meant for mount(8) and the system; dropped"));
  table.push_back(IgnoredMountRow("nodev", {"dev", "nosuid", "suid", "noatime", "relatime", "nodiratime"},
                                  "dropped: no volume shows device files, set-user-id bits or access times"));
  table.push_back(IgnoredMountRow("x-…", {}, "meant for others, e.g. x-systemd.automount; dropped"));
}

}  // namespace bucketvol
