"""`gpudiag remediate`: the plan of this node, and one act of it where a person asks for it."""

import json
import os
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from agent.cli.errors import Mistake
from agent.cli.language import lang
from agent.cli.local import SOCKET
from agent.cli.nccl_conf import write
from agent.cli.planned import Asked, Planned, planned
from remediations.act.hand import SOCKET as ACTOR
from remediations.plan.actions import Action, Decision
from remediations.policy import PATH

if TYPE_CHECKING:
    from agent.cli.hands import Keyboard

FOLDER = "/var/lib/gpudiag"
SCHEMA = "gpudiag.plan/1"
INTERRUPTED = 130


@click.command("remediate")
@click.argument("incident", required=False)
@click.option("--act", is_flag=True, help="Do the first thing that no guard objects to.")
@click.option("--yes", is_flag=True, help="With --act: do not ask again.")
@click.option(
    "--without-lease",
    is_flag=True,
    help="With --act: without the aggregator's leave; the host's name has to be typed.",
)
@click.option("--replay", metavar="DIR", help="The plan of a recording; it never acts.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON document.")
@click.option(
    "--nccl-conf",
    "conf",
    metavar="FILE",
    help="Write the job's settings of NCCL into a new file, for NCCL_CONF_FILE.",
)
@click.option("--socket", "agent", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
@click.option("--actor", default=ACTOR, hidden=True)
@click.option("--policy", default=PATH, hidden=True)
@click.option("--state", "folder", default=FOLDER, hidden=True)
@lang
def command(  # noqa: PLR0913 - one parameter for each option that INTERFACES names
    *,
    incident: str | None,
    act: bool,
    yes: bool,
    without_lease: bool,
    replay: str | None,
    as_json: bool,
    conf: str | None,
    agent: str,
    actor: str,
    policy: str,
    folder: str,
) -> int:
    """Show what could be done about INCIDENT, or about all of this node's, and why it is or not.

    Nothing is done without --act, and then by gpudiag-actor alone, within the policy of root in
    /etc/gpudiag/acting.toml. Exit status: 0 shown, or done; 1 asked for and not done.
    """
    if conf is not None and (act or as_json):
        raise Mistake("--nccl-conf writes a file and does nothing else", "give it alone")
    _fit(act=act, yes=yes, without_lease=without_lease, replay=replay, as_json=as_json)
    told = planned(Asked(agent=agent, actor=actor, policy=policy, replay=replay, person=act))
    chosen = _chosen(told, incident)
    if conf is not None:
        count = write(conf, told, incident)
        click.echo(f"{count} settings in {conf}; the job reads them by NCCL_CONF_FILE={conf}")
        return 0
    if as_json:
        sys.stdout.write(json.dumps(_plain(told, chosen), indent=1) + "\n")
        return 0
    _show(told, chosen)
    if not act:
        return 0
    first = next((one for one in chosen if one.verdict == "acts" and one.action.steps), None)
    if first is None:
        click.echo("nothing was done: something speaks against each of these", err=True)
        return 1
    _confirmed(told, first, yes=yes, without_lease=without_lease)
    from agent.cli.hands import Keyboard  # noqa: PLC0415 - who only looks needs no hands

    person = f"person:{os.getuid()}" if without_lease else None
    return _do(Keyboard(told, agent, actor, folder, person), first.action)


def _do(keyboard: "Keyboard", action: Action) -> int:
    """Do it, and say how it ended, also where the person has had enough in the middle."""
    try:
        ended = keyboard.do(action)
    except KeyboardInterrupt:
        said = "interrupted: the agent finishes what was begun, or takes it back"
        click.echo(f"{action.remedy}: {said}; gpudiag remediate says whether it is open", err=True)
        return INTERRUPTED
    click.echo(f"{action.remedy}: {ended.outcome}: {ended.reason}")
    return 0 if ended.outcome == "done" else 1


def _fit(*, act: bool, yes: bool, without_lease: bool, replay: str | None, as_json: bool) -> None:
    """Refuse options that do not go together."""
    alone = "--yes" if yes else "--without-lease" if without_lease else None
    if alone and not act:
        raise Mistake(f"{alone} means nothing without --act", "leave it out, or add --act")
    if act and replay:
        raise Mistake("a recording is not acted upon", "leave --act out to see its plan")
    if act and as_json:
        raise Mistake("--json and --act exclude each other", "give one of them")
    if act and os.geteuid() != 0:
        raise Mistake("only root may act", "repeat it with sudo; without --act anyone may look")
    if without_lease and not sys.stdin.isatty():
        raise Mistake("--without-lease is for a person at the keyboard", "run it in a terminal")
    if act and not yes and not sys.stdin.isatty():
        raise Mistake("--act asks, and there is no terminal to answer", "add --yes")


def _chosen(told: Planned, incident: str | None) -> Sequence[Decision]:
    if incident is None:
        return told.decisions
    for one in told.document.incidents:
        if incident in (one.id, one.fingerprint):
            return [d for d in told.decisions if d.action.incident == one.fingerprint]
    known = ", ".join(f"{one.id} ({one.fingerprint})" for one in told.document.incidents[:8])
    hint = f"there is {known}" if known else "there is none: gpudiag run looks anew"
    raise Mistake(f"{told.document.node or 'this node'} has no incident {incident}", hint)


def _show(told: Planned, chosen: Sequence[Decision]) -> None:
    from agent.cli.terminal import bears_glyphs, write  # noqa: PLC0415 - costs start-up, for people only
    from agent.render.plan import draw  # noqa: PLC0415 - same

    plain = not bears_glyphs()
    write(lambda width: draw(told.document, chosen, told.notes, width, ascii_only=plain))


def _confirmed(told: Planned, decision: Decision, *, yes: bool, without_lease: bool) -> None:
    """Have a person say that it is meant; without a lease, by the host's own name."""
    host = socket.gethostname().partition(".")[0]
    if without_lease:
        said = click.prompt(f"Without a lease: type the name of this host ({host})", default="")
        if said.strip() != host:
            raise Mistake("that is not this host's name: nothing was done", f"type {host}")
    elif not yes:
        action = decision.action
        node = told.document.node or host
        question = f"{action.remedy} on {node}, for {action.fault} of {action.subject}?"
        if not click.confirm(question):
            raise Mistake("nothing was done", "answer y to have it done")


def _plain(told: Planned, chosen: Sequence[Decision]) -> dict[str, object]:
    ids = {one.fingerprint: one.id for one in told.document.incidents}
    return {
        "schema": SCHEMA,
        "node": told.document.node,
        "boot_id": told.document.boot_id,
        "notes": list(told.notes),
        "plan": [
            {
                "remedy": one.action.remedy,
                "incident": ids.get(one.action.incident or ""),
                "decision": one.verdict,
                "reason": one.reason,
                "guard": one.guard,
                "steps": [step.says for step in one.action.steps],
                "verify": list(one.action.verify),
                "risk": one.action.risk,
            }
            for one in chosen
        ],
    }
