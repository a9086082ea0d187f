"""A hundred mounts on one machine, twenty of which come and go in every way there is: nothing leaks, and an idle one is cheap."""
import os

import fleet
import rig

STANDING = 80
TRAVELLING = 20
SECONDS = int(os.environ.get("SOAK_SECONDS", 600))
READERS = 6
IDLE_SECONDS = 10
# Guard, worker and standby together, with their share of what all have in common.
IDLE_BYTES = 20e6
# Other programs of the machine open files, too.
FOREIGN_FILES = 400


class FleetSoak(fleet.FleetTest):
    def test_nothing_leaks(self):
        self.make_buckets(STANDING)
        self.choose_kinds()
        self.mount_all()
        self.await_standbys()
        self.assertLess(self.idle_cost(IDLE_SECONDS), IDLE_BYTES)
        files = fleet.open_files_of_the_machine()
        self.assert_nothing_leaks(TRAVELLING, SECONDS, READERS)
        after = fleet.open_files_of_the_machine()
        print(f"open files of the machine: {files} before, {after} after")
        self.assertLess(after - files, FOREIGN_FILES)
        self.idle_cost(IDLE_SECONDS)
        self.umount_all()


if __name__ == "__main__":
    rig.main()
