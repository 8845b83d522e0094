"""The job release task of a job with gangs: puts the output of this node's members into storage.

Runs on the node, in whatever Python 3 is there (3.6 or later), and needs nothing else. Each member's working
directory holds its rank, and where its output belongs: `azbatch_core.plan.member_logs` writes that, and knows
why the name of the node is part of a blob's name.
"""

import glob
import os
import sys
import time
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

LARGEST = 5000 * 1024 * 1024  # one Put Blob request
PAUSES = (1, 5, 25)
SECONDS = 300
REFUSED = 400


def main() -> int:
    """Upload what there is; 1 if any of it could not be."""
    tasks = glob.escape(os.path.dirname(os.environ["AZ_BATCH_TASK_DIR"]))
    failed = 0
    # Windows nodes of long ago numbered the folders of members.
    for below in ("*", os.path.join("*", "[0-9]*")):
        for mark in glob.glob(os.path.join(tasks, below, "wd", ".azbatch-member")):
            with open(mark, encoding="utf-8") as lines:
                rank, *outputs = lines.read().splitlines()
            folder = os.path.dirname(os.path.dirname(mark))
            for output in outputs:
                name, _, blob = output.partition(" ")
                place, slash, last = blob.rpartition("/")
                own = "{}{}member-{}/{}/{}".format(place, slash, rank, os.environ["AZ_BATCH_NODE_ID"], last)
                failed += not kept(os.path.join(folder, name), own)
    return 1 if failed else 0


def kept(path: str, blob: str) -> bool:
    """Upload a file, trying again for a while; whether it is there, or there is nothing to keep."""
    if not os.path.exists(path):
        return True
    if os.path.getsize(path) > LARGEST:
        return tell(blob, "is larger than 5000 MiB, so no copy was made")
    reason = ""
    for pause in (*PAUSES, 0):
        try:
            put(path, blob)
        except HTTPError as error:
            reason = "the storage answered {}".format(error.code)
            if REFUSED <= error.code < REFUSED + 100:
                break
        except OSError as error:
            reason = str(error)
        else:
            return True
        time.sleep(pause)
    return tell(blob, "was not uploaded: " + reason)


def put(path: str, blob: str) -> None:
    """Send a file in one request."""
    container, _, signature = os.environ["AZBATCH_MEMBER_LOGS"].partition("?")
    headers = {
        "Content-Length": str(os.path.getsize(path)),
        "Content-Type": "text/plain",
        "x-ms-blob-type": "BlockBlob",
        "x-ms-version": "2020-10-02",
    }
    with open(path, "rb") as data:
        url = container + "/" + quote(blob) + "?" + signature
        request = Request(url, data, headers, method="PUT")  # noqa: S310 - the submitter's own storage
        with urlopen(request, timeout=SECONDS):  # noqa: S310 - same
            pass


def tell(blob: str, what: str) -> bool:
    """Say why there is no copy, without the address: it has the signature in it."""
    sys.stderr.write("azbatch: {} {}\n".format(blob, what))
    return False


if __name__ == "__main__":
    sys.exit(main())
