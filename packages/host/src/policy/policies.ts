import type { Clock, SecurityMode, StateMachine } from '@bulkhead/contract'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { CommandSafety } from './command-safety/command-safety.ts'
import type { CallMeaning, CheckedCall } from './call-view.ts'
import { consult, type Said } from './consult.ts'
import { nameOf, type Guard, type Judge } from './guards.ts'
import { judgeByStage } from './state-machine.ts'
import { ask, deny, type Verdict } from './verdict.ts'

/** One hearing of a call. */
export interface Hearing {
  readonly call: CheckedCall
  readonly meaning: CallMeaning
  readonly verdicts: Verdict[]
  readonly clock: Clock
  /** What the rules of the policy that is heard have said. */
  ruled: Verdict | undefined
}

/** Says what it has to say of a call, in `verdicts` or, for a single word, as what it returns. */
export type Speaker = (hearing: Hearing) => Said | Promise<Said>

/** What the speakers of one policy are made of. */
export interface SpeakerSources {
  readonly mode: SecurityMode
  readonly commandSafety: CommandSafety | undefined
  readonly watchdogs: readonly Judge[]
  readonly guards: readonly Guard[]
  readonly stateMachine: StateMachine | undefined
  standing(tool: ToolEntry): { readonly floor: Verdict | undefined }
  judgeRules(tool: ToolEntry, meaning: CallMeaning): Verdict | undefined
}

/** Whoever speaks of a call under one policy, in order: a list made once, so that who is not there costs nothing. */
export function speakersOf(policy: SpeakerSources): readonly Speaker[] {
  const { commandSafety, watchdogs, guards } = policy
  return [
    rulesAndFloor(policy),
    ...(commandSafety ? [screen(commandSafety)] : []),
    ...watchdogs.map(watchdogSpeaker),
    gate(policy),
    ...guards.filter(({ pre }) => pre !== undefined).map(guardSpeaker),
  ]
}

const rulesAndFloor = (policy: SpeakerSources): Speaker => (hearing) => {
  const { call: { tool }, meaning, verdicts } = hearing
  hearing.ruled = policy.judgeRules(tool, meaning)
  if (hearing.ruled) verdicts.push(hearing.ruled)
  return meaning.onlyReads ? undefined : policy.standing(tool).floor
}

/** What is critical is refused, and a warning asks, each time: the key of a stranger's shell says little of what it runs. */
const screen = (commandSafety: CommandSafety): Speaker => ({ call: { tool, args }, verdicts }) => {
  if (tool.grant.shell.length === 0) return undefined
  for (const { id, label, description, severity } of commandSafety.judge(args)) {
    const [source, reason] = [`command safety ${id}`, `${label}: ${description.replace(/\.$/, '')}`]
    const isCritical = severity === 'critical'
    verdicts.push(isCritical ? deny('watchdog', 'WatchdogDenied', source, reason) : ask('watchdog', source, reason, false))
  }
  return undefined
}

const watchdogSpeaker = (watchdog: Judge): Speaker => ({ call, meaning: { approvalKey }, clock }) =>
  consult(watchdog, 'watchdog', nameOf(watchdog), call, approvalKey, clock)

/** A state machine is heard instead of the mode. A rule that allows has answered what the mode would ask. */
const gate = ({ stateMachine, mode }: SpeakerSources): Speaker => {
  const gated = ask('security-mode', `mode ${mode}`, 'this tool runs only when somebody agrees', true)
  return ({ call, meaning, ruled }) => {
    if (!call.tool.definition.gated) return undefined
    const staged = stateMachine && judgeByStage(stateMachine, call)
    return staged || ruled?.action === 'allow' || meaning.onlyReads ? staged : gated
  }
}

const guardSpeaker = ({ id, pre }: Guard): Speaker => ({ call, meaning: { approvalKey }, clock }) =>
  call.tool.definition.gated ? consult(pre!, 'guard', id, call, approvalKey, clock) : undefined
