import {
  ANY_COMMAND, hostOfKey, NO_COMMAND_WALLS, type CallNeed, type CommandReading, type CommandVariable,
  type CommandWall, type CommandWalls,
} from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'
import { hostMatches } from '@bulkhead/kit/hosts'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { HostContext, ValidatedCall } from './call.ts'
import { keyOf } from './call-analysis.ts'
import type { SessionScope } from './call-session.ts'
import type { CallAnalysis, Subject } from './model/checked-call.ts'

/** The walls are tried once, before the first command. */
const WALL_MS = 30_000

/** The analysis of a call that runs commands, with the wall that they get on this machine in this session. */
export async function withWall(analysis: CallAnalysis, call: ValidatedCall, host: HostContext): Promise<CallAnalysis> {
  const { command } = analysis
  if (command === undefined) return analysis
  const walls = await wallsOf(call, host)
  const stopped = stoppedLines(call.session).get(command.line)
  // Files with credentials are masked behind the look wall.
  if (command.look !== undefined && stopped === undefined && analysis.onlyReads !== 'reveals') {
    if (walls.look) return behindLook(analysis, command.look)
    // Simple enough to need no wall. The broker uses one if it stands by then.
    if (analysis.onlyReads === true) return analysis
  }
  const kept = command.look === undefined ? analysis : unknowing(analysis)
  return walls.work ? beyondLook(kept, command, stopped, walls, keysFor(call, host)) : withoutWall(kept, true)
}

/** Beyond the look wall, what its words seem to do is only a guess. */
function unknowing({ onlyReads, effects, ...analysis }: CallAnalysis): CallAnalysis {
  // It is one of the simple commands, and its wall stopped it all the same.
  if (onlyReads === true) return { ...analysis, effects }
  return { ...analysis, ...(onlyReads && { onlyReads }) }
}

async function wallsOf({ signal }: ValidatedCall, { commandWalls, clock }: HostContext): Promise<CommandWalls> {
  const late = () => new Error('The walls could not be tried in time.')
  // If they cannot be tried now, this call asks.
  const walls = await within({ clock, ms: WALL_MS, late, signal }, commandWalls).catch(() => NO_COMMAND_WALLS)
  signal.throwIfAborted()
  return walls
}

function behindLook(analysis: CallAnalysis, look: NonNullable<CommandReading['look']>): CallAnalysis {
  const verdicts = analysis.verdicts.filter(({ action }) => action !== 'ask')
  const { key: approvalKey, subjects } = look
  return { ...analysis, approvalKey, subjects, verdicts, onlyReads: true, wall: { wall: 'look' } }
}

function beyondLook(
  analysis: CallAnalysis, { hosts: needed }: CommandReading, stopped: StoppedBy | undefined, walls: CommandWalls,
  keys: readonly CommandKey[],
): CallAnalysis {
  if (stopped === 'work' || (stopped === 'network' && needed === 'all')) return withoutWall(analysis, false)
  const wanted = stopped === 'network' ? 'all' : needed
  // Without a network of its own, a command gets all of it or nothing.
  const hosts = wanted === undefined || walls.network ? wanted : 'all'
  const words = `run behind the work wall: it can write to the workspace, ${networkWords(hosts)}`
  // The relay sends keys, and the whole network has none.
  const used = hosts === undefined || hosts === 'all' ? [] : keys.filter(({ key }) => hostMatches(hosts, hostOfKey(key)))
  const wall: CommandWall = {
    wall: 'work', ...(hosts && { hosts }), ...(used.length > 0 && { keys: used.map(({ name }) => name) }),
  }
  const useWords = used.map(({ name, key: { host } }) => `use the key ${name} for ${host}`)
  const touched = { ...analysis, wall, touches: [...analysis.touches, ...useWords, words] }
  if (hosts === undefined) return touched
  const names = hosts === 'all' ? ['*'] : hosts
  const more = [...names.map((name) => `net ${name}`), ...used.map(({ name }) => `key ${name}`)]
  const marks = [`[net ${names.join(' ')}]`, ...used.map(({ name }) => `[key ${name}]`)]
  return {
    ...touched, approvalKey: keyOf([analysis.approvalKey, ...marks].join(' ')),
    subjects: [...analysis.subjects, ...more.map((key): Subject => ({ key, names: [], ofWall: true }))],
    needs: [...analysis.needs ?? [], ...names.map((subject): CallNeed => ({ kind: 'net', subject }))],
    effects: undefined,
  }
}

type CommandKey = CommandVariable & Required<Pick<CommandVariable, 'key'>>

/** Keys are for bundled tools that run any command. */
const keysFor = ({ tool }: ValidatedCall, { commandVariables = [] }: HostContext): readonly CommandKey[] =>
  tool.origin.layer !== 'bundled' || !tool.grant.shell.some(({ cmd }) => cmd === ANY_COMMAND) ? []
    : commandVariables.filter((variable): variable is CommandKey => variable.key !== undefined)

function networkWords(hosts: CommandWall['hosts']): string {
  if (hosts === undefined) return 'without a network'
  return hosts === 'all' ? 'with the whole network' : `and reach ${hosts.join(', ')}`
}

/** `isOnly`: no other wall stands on this machine, so rules and the allowlist name its commands as everywhere. */
function withoutWall(analysis: CallAnalysis, isOnly: boolean): CallAnalysis {
  const open = (key: string): string => keyOf(`${OPEN} ${key}`)
  return {
    ...analysis, wall: { wall: 'open' }, approvalKey: open(analysis.approvalKey),
    subjects: analysis.subjects.map(({ key, names, within: wider }) => ({
      key: open(key), names: [...names ?? [], key], ...(names === undefined && { ofAction: true }),
      ...(wider && { within: wider.map(open) }), ...(isOnly && { plain: key }),
    })),
    touches: [...analysis.touches, 'run without a wall: it can do everything that you can'],
  }
}

/** Marks the key of a command that runs without a wall. An approval for the work wall does not cover it. */
const OPEN = '[open]'

type StoppedBy = 'look' | 'work' | 'network'
const STOPPED: ReadonlySet<Json> = new Set<StoppedBy>(['look', 'work', 'network'])
/** Lines that are remembered for one session. */
const MOST_LINES = 256

/** By session, so that no extension reaches it. */
const remembered = new WeakMap<SessionScope['policy'], Map<string, StoppedBy>>()
const stoppedLines = ({ policy }: Pick<SessionScope, 'policy'>): Map<string, StoppedBy> =>
  remembered.getOrInsertComputed(policy, () => new Map())

/** Remembers the wall that stopped a command of a bundled tool: the same line asks for the next wider one. */
export function noteStopped(session: Pick<SessionScope, 'policy'>, { command, wall }: CallAnalysis, data: Json): void {
  if (command === undefined || wall === undefined || !isJsonObject(data)) return
  const { stopped_by: stopped } = data
  if (stopped === undefined || !STOPPED.has(stopped)) return
  const lines = stoppedLines(session)
  // The tool cannot name a wall that did not stand, and so skip one.
  const by = wall.wall === 'look' ? 'look' : stopped === 'network' ? 'network' : 'work'
  lines.delete(command.line)
  lines.set(command.line, by)
  if (lines.size > MOST_LINES) lines.delete(lines.keys().next().value!)
}
