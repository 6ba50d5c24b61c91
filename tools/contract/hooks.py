"""What Schemathesis cannot know: a name that was used before is a repeat or a conflict.

Such a request is refused, or answered as the first one was, before anything else of it
is looked at, and the tool sends most of its cases with a few names. So three of four
cases that use a name again get one of their own instead. Every fourth goes out as it
is: repeats and conflicts are part of the contract, too. A name that the document does
not allow stays as it is.
"""

import random
import re
import uuid

import schemathesis

KEY = "Idempotency-Key"
MEMBERS = ("invoiceId", "externalReference", "refundReference")
ALLOWED = re.compile(r"[!#-+\--~]([!-+\--~]{0,78}[!-+\--~])?")

choice = random.Random(20261130)
used = set()


def own(place, name):
    """The name, or another one when it was used in this place before."""
    if not isinstance(name, str) or not ALLOWED.fullmatch(name):
        return name
    if (place, name) not in used:
        used.add((place, name))
        return name
    return name if choice.randrange(4) == 0 else f"{name}-{uuid.uuid4()}"


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.method != "POST":
        return
    if case.headers and KEY in case.headers:
        case.headers[KEY] = own(KEY, case.headers[KEY])
    if isinstance(case.body, dict):
        for member in MEMBERS:
            if member in case.body:
                case.body[member] = own(member, case.body[member])
