"""Every error that azbatch raises, as one tree.

    AzBatchError
    ├── SpecError                what was asked for is wrong, whoever is asked (also a ValueError)
    ├── ConfigurationError       account, profile, endpoint or a missing extra
    ├── AuthenticationError      the service does not accept who is asking
    ├── NotFound                 no such job, task, pool, node or file (also a LookupError)
    ├── Conflict                 the resource's state forbids it, or the name is taken
    ├── QuotaExceeded            a limit of the account
    ├── Throttled                too many requests, after all retries
    ├── ServiceUnavailable       no answer, or 5xx, after all retries (also a ConnectionError)
    │   └── LocalServiceStopped  the local service was stopped and did not come back
    ├── InvalidRequest           the service refused the request as wrong
    ├── SubmissionError          some tasks were not added; carries the result of each task
    ├── JobFailed                a waited-for job ended without success
    └── WaitTimeout              the caller's own deadline passed (also a TimeoutError)

An error is one line that a person can act on: what was given, the rule, the next step. It also carries what
the service said, as data. No error holds a secret. Every error can be copied and pickled, as a pool of
processes does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.service.states import JobStatus, Submission


class AzBatchError(Exception):
    """The root of the tree.

    Attributes:
        message: One line for a person.
        code: The service's error code, such as ``PoolNotFound``; None where the service was not involved.
        details: The service's detail pairs (``PropertyName``, ``PropertyValue``, ``Reason`` …).
        request_id: The service's id of the failed request, for a support case.
        hint: The next step, or None.
        retryable: Whether the same call can succeed later without a change.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, str] | None = None,
        request_id: str | None = None,
        hint: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = dict(details or {})
        self.request_id = request_id
        self.hint = hint
        self.retryable = retryable

    def __reduce__(self) -> tuple[object, ...]:
        # Python's own way calls the class with `args` alone, and some arguments here are keywords only.
        return _restore, (type(self), dict(self.__dict__))

    def __str__(self) -> str:
        """The whole story on one line: message, code, details, hint."""
        parts = [self.message]
        if self.code and self.code not in self.message:
            parts.append(f"[{self.code}]")
        if self.details:
            parts.append("(" + "; ".join(f"{key}={value}" for key, value in self.details.items()) + ")")
        if self.hint:
            parts.append(f"- {self.hint}")
        return " ".join(parts)


class SpecError(AzBatchError, ValueError):
    """A spec is wrong: names the field, the value and the rule.

    Attributes:
        field: The dotted path of the field, such as ``tasks[3].command``.
        line: The line in the file that the spec was read from, counted from 1; None when it came from Python.
        others: What else was found wrong in the same spec: each is a whole error of its own.
    """

    def __init__(
        self, message: str, *, field: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.field = field
        self.line = line
        self.others: tuple[SpecError, ...] = ()


class ConfigurationError(AzBatchError):
    """An account, a profile, an endpoint, a credential's shape or a missing extra."""


class AuthenticationError(AzBatchError):
    """The service does not accept the credential, or the credential cannot do this."""


class NotFound(AzBatchError, LookupError):
    """The job, task, pool, node or file does not exist (any more)."""


class Conflict(AzBatchError):
    """The resource exists already, or its state forbids the operation."""


class QuotaExceeded(AzBatchError):
    """A limit of the account: active jobs, pools, cores."""


class Throttled(AzBatchError):
    """The service still answered "too many requests" after all retries."""


class ServiceUnavailable(AzBatchError, ConnectionError):
    """No answer, or a 5xx answer, after all retries."""


class LocalServiceStopped(ServiceUnavailable):
    """The local service went away while it was needed, and nobody started it again within a few seconds."""


class InvalidRequest(AzBatchError):
    """The service refused the request as wrong; the details name the property."""


class SubmissionError(AzBatchError):
    """Some tasks were not added.

    Attributes:
        submission: The `azbatch_core.Submission` with the result of every task.
    """

    def __init__(self, message: str, *, submission: Submission, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.submission = submission


class JobFailed(AzBatchError):
    """A job that was waited for ended without success.

    Attributes:
        status: The `azbatch_core.JobStatus` at the end.
    """

    def __init__(self, message: str, *, status: JobStatus, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class WaitTimeout(AzBatchError, TimeoutError):
    """The caller's deadline passed; the job goes on."""


def _restore(kind: type[AzBatchError], attributes: dict[str, object]) -> AzBatchError:
    """An error as it was pickled or copied."""
    error = kind.__new__(kind)
    AzBatchError.__init__(error, str(attributes["message"]))
    error.__dict__.update(attributes)
    return error
