"""Some mounts on one machine, a few of them coming and going: nothing leaks. The long form is fleet_soak.py."""
import fleet
import readers
import rig

STANDING = 7
TRAVELLING = 5
SECONDS = 40


class FleetShortTest(fleet.FleetTest):
    def test_nothing_leaks(self):
        self.make_buckets(STANDING)
        self.mount_all()
        self.choose_kinds()
        self.await_standbys()
        before = self.census()
        running = readers.Readers(self.standing, self.expected, 3)
        try:
            done = self.travel(TRAVELLING, SECONDS)
        finally:
            running.stop()
        print(f"{done}, {running.reads} reads of the standing mounts")
        self.assertEqual(running.problems, [])
        self.settle()
        self.assertEqual(self.census(), before)
        self.umount_all()


if __name__ == "__main__":
    rig.main()
