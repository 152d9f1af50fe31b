"""When the next call may be sent, by the run's own limits and by what the server says of its."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.judging.calls.buckets import Bucket

if TYPE_CHECKING:
    from voirdire.judging.calls.limits import Limits
    from voirdire.records import Headroom

__all__ = ["LONGEST_WAIT_S", "Pace"]

LONGEST_WAIT_S = 600.0
"""A server that asks to wait for longer is not waited for."""


class Pace:
    """The buckets that a call draws from, and the time before which nothing is sent.

    Parameters
    ----------
    limits : Limits
        Of the run.
    now : float
        Seconds, from any beginning.
    """

    def __init__(self, limits: Limits, *, now: float) -> None:
        self.not_before = now
        self._requests = _own(limits.requests_per_minute, now=now)
        self._tokens = _own(limits.tokens_per_minute, now=now)
        self._server_requests: Bucket | None = None
        self._server_tokens: Bucket | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how many tokens a call takes."""
        return self._tokens is not None or self._server_tokens is not None

    def wait_s(self, n_requests: int, n_tokens: float, *, now: float) -> float:
        """Seconds until so much may be sent; 0 if now."""
        wait = max(0.0, self.not_before - now)
        for bucket in (self._requests, self._server_requests):
            if bucket is not None:
                wait = max(wait, bucket.wait_s(n_requests, now=now))
        for bucket in (self._tokens, self._server_tokens):
            if bucket is not None:
                wait = max(wait, bucket.wait_s(n_tokens, now=now))
        return wait

    def take(self, n_requests: int, n_tokens: float, *, now: float) -> None:
        """Draw from every bucket."""
        for bucket in (self._requests, self._server_requests):
            if bucket is not None:
                bucket.take(n_requests, now=now)
        self.take_tokens(n_tokens, now=now)

    def take_tokens(self, n_tokens: float, *, now: float) -> None:
        """Correct what was drawn; less than nothing gives back."""
        for bucket in (self._tokens, self._server_tokens):
            if bucket is not None:
                bucket.take(n_tokens, now=now)

    def hold(self, seconds: float, *, now: float) -> float:
        """Send nothing for so long, whoever asks; give the seconds that this adds."""
        before = max(self.not_before, now)
        self.not_before = max(before, now + seconds)
        return self.not_before - before

    def observe(
        self, headroom: Headroom, *, n_requests_since: int, n_tokens_since: float, now: float
    ) -> None:
        """Take the server's word for what is left.

        Parameters
        ----------
        headroom : Headroom
            What it said with a reply.
        n_requests_since, n_tokens_since : number
            What was sent after the call that it replied to, which it had not counted yet.
        now : float
            Seconds.
        """
        self._server_requests = self._believed(
            self._server_requests,
            left=headroom.requests,
            limit=headroom.requests_limit,
            reset_s=headroom.requests_reset_s,
            since=n_requests_since,
            now=now,
        )
        self._server_tokens = self._believed(
            self._server_tokens,
            left=headroom.tokens,
            limit=headroom.tokens_limit,
            reset_s=headroom.tokens_reset_s,
            since=n_tokens_since,
            now=now,
        )

    def _believed(
        self,
        bucket: Bucket | None,
        *,
        left: int | None,
        limit: int | None,
        reset_s: float | None,
        since: float,
        now: float,
    ) -> Bucket | None:
        """Make a bucket that is whole again when the server says so, or keep the one there is."""
        if left is None or reset_s is None or not 0 < reset_s < float("inf"):
            return bucket
        if limit is None or left >= limit:
            if left <= 0:
                self.hold(min(reset_s, LONGEST_WAIT_S), now=now)
            return bucket
        per_second = (limit - max(left, 0)) / reset_s
        if bucket is None:
            bucket = Bucket(capacity=limit, per_second=per_second, now=now)
        bucket.set(left - since, capacity=limit, per_second=per_second, now=now)
        return bucket


def _own(per_minute: int | None, *, now: float) -> Bucket | None:
    return None if per_minute is None else Bucket.per_minute(per_minute, now=now)
