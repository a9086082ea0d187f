"""What every client of the suite has in common."""

import contextlib
import dataclasses


class Client:
    """Asks one server in one way (SDK, signature, addressing). `bucket` is set before each case.

    Methods return an Answer, also for an error the server answered with; an exception is a failure of the case.
    """

    name = ""
    dialect = ""
    kind = "sdk"  # "sdk", "raw" or "rclone": what a case may ask of it.

    def __init__(self, server, credentials=None):
        self.server = server
        self.credentials = credentials or server.credentials
        self.bucket = None

    def with_credentials(self, **changes):
        """A client like this one with other keys, on the same bucket."""
        other = self._twin(dataclasses.replace(self.credentials, **changes))
        other.bucket = self.bucket
        return other

    def must(self, answer):
        """Passes an answer on if it is a success; a preparation that fails breaks the case."""
        if answer["status"] >= 300:
            raise AssertionError(f"a step of preparation failed: {dict(answer)}")
        return answer

    def list_all(self, **parameters):
        """Follows continuation tokens to the end; returns all answers."""
        answers, token = [], None
        while True:
            answer = self.list(token=token, **parameters)
            answers.append(answer)
            if answer.get("IsTruncated") != "true":
                return answers
            token = answer.text("NextContinuationToken")

    def _twin(self, credentials):
        raise NotImplementedError

    @contextlib.contextmanager
    def clock(self, seconds):
        """Shifts the time this client signs with."""
        raise NotImplementedError
        yield
