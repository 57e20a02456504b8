#!/usr/bin/env python3
"""Writes sample-corpus/: six documents of a fictional platform team, with every front-matter key.

A test checks that the committed files equal what this writes. All people and things are invented.
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

ON_CALL = """\
---
title: On-call and escalation
tags: [on-call, incidents]
date: 2026-03-02
lifecycle: active
---
# On-call and escalation

The platform team is on call around the clock. A shift lasts one week and starts on Tuesday at
10:00 UTC. Swap shifts in the `#platform-oncall` channel, not by private message.

## Severity levels

| level | meaning | first response |
|---|---|---|
| sev-1 | customers cannot log in, pay or read their data | 5 minutes |
| sev-2 | a feature is broken for some customers | 30 minutes |
| sev-3 | an annoyance with a workaround | next working day |

## Escalating a sev-1

1. Acknowledge the page within five minutes. If nobody does, the pager calls the secondary.
2. Open an incident channel with `/incident open` and name an incident commander.
3. If there is no progress after 15 minutes, page the engineering manager on duty.
4. After 45 minutes the manager informs the head of engineering, Ines Okafor.

The commander writes an update every 20 minutes, even if there is nothing new.

## After the incident

The commander writes the review within three working days. Reviews name causes, never culprits.
"""

DEPLOYS = """\
---
title: Deploying to production
tags: deploys release
updated: 2026-05-11
rag_chunk: whole
---
# Deploying to production

Every merge to `main` builds an image and rolls it out to staging. Production needs a person:

```sh
shipit promote --service checkout --from staging --to production
```

Deploys are frozen from Friday 15:00 UTC until Monday 07:00 UTC. Only the incident commander may
lift the freeze, with `shipit unfreeze --reason`.

## Rolling back

Run `shipit rollback --service checkout`. It restores the previous image within two minutes and
leaves the database alone: migrations are forward only, so a release must work with the schema
before and after it.

If the command fails with `E-4107 image digest mismatch`, the registry mirror is stale. Run
`shipit mirror refresh` and try again.
"""

FAILOVER = """\
---
title: Database failover
tags:
  - database
  - runbook
date: 2026-04-20
lifecycle: active
---
# Database failover

The orders database runs as one primary and two replicas under the supervision of `pgwarden`.
Failover is automatic; do it by hand only when `pgwarden status` shows `DEGRADED` for more than
two minutes.

## Failing over by hand

1. Stop writes: `pgwarden fence --cluster orders`.
2. Wait until the replica's lag reads zero: `pgwarden lag --cluster orders`.
3. Promote the replica in zone B: `pgwarden promote --cluster orders --zone b`.
4. Lift the fence: `pgwarden unfence --cluster orders`.

Applications reconnect by themselves within 30 seconds, as they use the name `orders-rw.internal`.

## When promotion fails

`ERR_TIMELINE_FORK` means that both nodes took writes. Do not promote again. Page the database
specialist and keep the fence up.
"""

FAILOVER_OLD = """\
---
title: Database failover (2023)
tags: [database, runbook]
date: 2023-06-01
lifecycle: superseded
superseded_by: runbooks/database-failover.md
---
# Database failover (2023)

Log in to the standby as `postgres` and run `pg_ctl promote -D /srv/pg/main` by hand. Then change
the DNS record of `orders-db` and restart every application server one by one.

Expect ten to fifteen minutes of downtime. Tell the support desk before you start.
"""

SALARIES = """\
---
title: Salary bands (draft)
rag: false
---
# Salary bands (draft)

Not for the index: this file shows that `rag: false` keeps a document out of every search.
"""

HANDBOOK_INTRO = """\
---
title: Platform handbook
tags: [handbook, onboarding]
updated: 2026-06-30
rag_chunk: headings
---
# Platform handbook

What a new member of the platform team needs in the first month.
"""

HANDBOOK = (
    (
        "Access",
        "Ask your buddy to file an access request on your first day. Production access is granted "
        "after the safety course and expires after 90 days. Hardware keys are mandatory; collect "
        "two at the front desk and keep the spare one at home.",
    ),
    (
        "Laptops",
        "Laptops are replaced every three years. A lost laptop is reported to the security desk "
        "within one hour, at any time of day; they wipe it remotely.",
    ),
    (
        "Environments",
        "There are three environments: `dev`, `staging` and `production`. Data never moves from "
        "production to the others. Staging is reset every Sunday at 02:00 UTC, so do not keep "
        "anything there.",
    ),
    (
        "Service ownership",
        "Every service has one owning team, written in `service.yaml` under `owner`. A service "
        "without an owner is switched off after 30 days of warnings.",
    ),
    (
        "Observability",
        "Dashboards live in Grafana, logs are kept for 14 days and traces for 3. An alert without "
        "a runbook link is deleted in the weekly review. The query language for logs is LogQL.",
    ),
    (
        "Backups",
        "Databases are backed up every six hours to another region, and a restore is rehearsed on "
        "the first Monday of each month. A rehearsal counts only if an application has read from "
        "the restored copy. Backups are kept for 35 days.",
    ),
    (
        "Secrets",
        "Secrets live in the vault and are rotated every 60 days by `vault-rotor`. Never put one "
        "in a repository, not even for a test. A leaked secret is a sev-2 until it is rotated.",
    ),
    (
        "Networking",
        "Services talk over the mesh with mutual TLS. A new outbound destination needs a line in "
        "`egress.yaml` and a review by the network group, which takes up to two days.",
    ),
    (
        "Queues",
        "Messages that fail five times go to the dead-letter queue `dlq-main`. Replay them with "
        "`queuectl replay --max 500`; more at once overloads the consumers.",
    ),
    (
        "Feature flags",
        "Flags are named `team.feature.verb` and have an expiry date. A flag that has expired "
        "fails the build. Remove the code path, not only the flag.",
    ),
    (
        "Costs",
        "Each team sees its monthly cloud bill on the third working day. Anything above 5 % over "
        "budget needs a note. Idle clusters are stopped at 20:00 local time.",
    ),
    (
        "Meetings",
        "The team meets on Wednesdays at 13:30 UTC for 45 minutes. The agenda closes one hour "
        "before. Decisions are written down the same day in `decisions/`.",
    ),
)


def documents() -> dict[str, str]:
    """The corpus as the path and text of each file."""
    sections = "".join(
        f"\n## {title}\n\n{textwrap.fill(text, 98, break_on_hyphens=False)}\n"
        for title, text in HANDBOOK
    )
    return {
        "on-call.md": ON_CALL,
        "deploys.md": DEPLOYS,
        "runbooks/database-failover.md": FAILOVER,
        "runbooks/database-failover-2023.md": FAILOVER_OLD,
        "salary-bands.md": SALARIES,
        "platform-handbook.md": HANDBOOK_INTRO + sections,
    }


def main() -> None:
    """Writes the corpus into the given folder, or into sample-corpus/."""
    default = Path(__file__).resolve().parent.parent / "sample-corpus"
    parser = argparse.ArgumentParser("gen_sample_corpus.py", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=default,
                        help="where to write; default: sample-corpus/")  # fmt: skip
    target: Path = parser.parse_args().folder
    for path, text in documents().items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {len(documents())} documents to {target}")


if __name__ == "__main__":
    main()
