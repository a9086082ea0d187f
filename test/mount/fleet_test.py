"""Some mounts on one machine, a few of them coming and going: nothing leaks. The long form is fleet_soak.py."""
import fleet
import rig

STANDING = 7
TRAVELLING = 5
SECONDS = 40
READERS = 3


class FleetShortTest(fleet.FleetTest):
    def test_nothing_leaks(self):
        self.make_buckets(STANDING)
        self.mount_all()
        self.choose_kinds()
        self.await_standbys()
        self.assert_nothing_leaks(TRAVELLING, SECONDS, READERS)
        self.umount_all()


if __name__ == "__main__":
    rig.main()
