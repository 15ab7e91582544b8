import { hash } from 'node:crypto'
import { relative } from 'node:path'
import {
  BulkheadError, CALL_LIMITS, checkApprovalKey, isHeldBack, isLockedTool, SENSITIVE, type ArgumentsReader,
  type ArgumentsReading, type CallEffects, type CallSubject, type Clock, type CommandReading, type CompartmentSession,
  type ReaderContext,
} from '@bulkhead/contract'
import { onAbort, untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { isWithin } from '@bulkhead/kit/programs'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { Attempts } from '../model/call-run.ts'
import type { HostContext, ValidatedCall } from './call.ts'
import { analysisByKey, type CallAnalysis, type NamedPath, type Subject } from './model/checked-call.ts'
import { followLinks, namedPaths } from './touches.ts'
import { askOfMode, deny } from './model/verdict.ts'

/**
 * The host's own reader analyses the arguments if there is one for this name. Otherwise a template or the name is the
 * key. undefined if the tool has to derive it.
 */
export function analyzeCall(call: ValidatedCall, host: HostContext): CallAnalysis | undefined {
  const { name, approvalKey: template, extension, origin } = call.tool
  const reader = readerOf(call.tool, host)
  if (reader) {
    const reading = readSafely(() => reader(call.args, contextOf(call, host)), name)
    const analysis = analysisOf(reading, origin.layer === 'bundled', call.session.paths, host)
    return call.tool.canReveal ? withOwnKey(analysis, reading, call.session.paths, host) : analysis
  }
  if (template) return analysisByKey(template(call.args))
  return extension.compartment && !extension.compartment.offers.approvalKeys.has(name) ? analysisByKey(name) : undefined
}

/** Another tool with a name that is not locked may have other arguments. */
export const readerOf = (
  { name, origin }: Pick<ToolEntry, 'name' | 'origin'>, { argumentsReaders }: Pick<HostContext, 'argumentsReaders'>,
): ArgumentsReader | undefined =>
  origin.layer === 'bundled' || isLockedTool(name) ? argumentsReaders.get(name) : undefined

const contextOf = ({ session: { paths } }: ValidatedCall, { readStart }: HostContext): ReaderContext =>
  readStart ? { ...paths, readStart } : paths

const subjectOf = (
  { key, names, within, place, plain }: CallSubject, paths: ReaderContext, { realPath }: HostContext,
): Subject => ({
  key: keyOf(key), ...(names && { names }), ...(within && { within: within.map(keyOf) }),
  ...(plain !== undefined && { plain: keyOf(plain) }),
  ...(place && { place, isHeldBack: () => isHeldBackFrom(place.path, paths, realPath) }),
})

const commandOf = ({ look, ...command }: CommandReading, paths: ReaderContext, host: HostContext): CommandReading => ({
  ...command,
  ...(look && { look: { key: keyOf(look.key), subjects: look.subjects.map((one) => subjectOf(one, paths, host)) } }),
})

const rootOf = (path: string, { workspace, roots = [] }: ReaderContext): string =>
  [workspace, ...roots].find((root) => isWithin(path, root)) ?? '/'

/** A link that cannot be followed can lead to a file that is held back. */
function isHeldBackFrom(path: string, paths: ReaderContext, realPath: HostContext['realPath']): boolean {
  try {
    return [path, ...(realPath ? [realPath(path)] : [])].some((one) => isHeldBack(one, rootOf(one, paths)))
  } catch {
    return true
  }
}

/** `isBundled`: only a tool that ships with the host is known to do what its arguments say. */
function analysisOf(
  reading: ArgumentsReading, isBundled: boolean, paths: ReaderContext, host: HostContext,
): CallAnalysis {
  const { key, subjects, touches, asks, denies, onlyReads, needs, effects, writes, command, startsBehind } = reading
  let followed: CallEffects | undefined
  let named: readonly NamedPath[] | undefined
  return {
    approvalKey: keyOf(key),
    subjects: subjects.map((one) => subjectOf(one, paths, host)),
    touches,
    verdicts: [
      ...denies.map((reason) => deny('watchdog', 'WatchdogDenied', SOURCE, reason)),
      ...asks.map(({ reason, fresh }) => askOfMode('watchdog', SOURCE, reason, fresh)),
    ],
    ...(isBundled && onlyReads === true && { onlyReads }),
    ...(isBundled && onlyReads === 'walled' && { onlyReads: 'unwalled' }),
    ...(command && isBundled ? { command: commandOf(command, paths, host) } : {}),
    ...(startsBehind && isBundled ? { startsBehind } : {}),
    ...(needs && isBundled ? { needs } : {}),
    ...(writes && isBundled ? { writes } : {}),
    ...(effects && isBundled ? { effects: () => (followed ??= followLinks(effects, host.realPath)) } : {}),
    named: () => (named ??= namedPaths(reading, host.realPath)),
  }
}

/** Reading a file with credentials or variables is an effect: it asks, and an approval covers this file only. */
function withOwnKey(
  analysis: CallAnalysis, { effects: { reads: named = [] } = {} }: ArgumentsReading,
  paths: ReaderContext, { realPath }: HostContext,
): CallAnalysis {
  const { workspace } = paths
  if (!analysis.onlyReads || !analysis.effects) return analysis
  const { reads } = analysis.effects()
  const revealed = [...named, ...reads ?? []].find(({ path }) => SENSITIVE.find(path, rootOf(path, paths)))
  // A link that cannot be followed can lead to such a file.
  const isUnknown = realPath !== undefined && reads === undefined && named.length > 0
  if (revealed === undefined) {
    return isUnknown && analysis.onlyReads === true ? { ...analysis, onlyReads: 'unwalled' } : analysis
  }
  const file = keyOf(isWithin(revealed.path, workspace) ? relative(workspace, revealed.path) : revealed.path)
  // That a command only reads can be a guess. Then an approval covers its words as well.
  const subject: Subject = { key: file, place: { kind: 'file', path: revealed.path }, isHeldBack: () => true }
  return analysis.onlyReads === true
    ? { ...analysis, approvalKey: file, subjects: [subject], onlyReads: 'reveals' }
    : { ...analysis, subjects: [...analysis.subjects, subject], onlyReads: 'reveals' }
}

const SOURCE = 'reading of the arguments'
/** How much of a long key is shown. */
const SHOWN_CHARS = 200

function readSafely(read: () => ArgumentsReading, tool: string): ArgumentsReading {
  try {
    const reading = read()
    if (reading.subjects.length > 0) return reading
    throw new Error('the reader found nothing in them')
  } catch (thrown) {
    const text = `The arguments of "${tool}" could not be read: ${messageOf(thrown)}.`
    throw new BulkheadError('ApprovalKeyDerivationFailed', text, { data: { tool }, cause: thrown })
  }
}

/** Readers do not limit keys. A long key becomes its beginning and the digest of the whole. */
export function keyOf(text: string): string {
  if (Buffer.byteLength(text) <= CALL_LIMITS.approvalKeyBytes) return checkApprovalKey(text)
  const beginning = Array.from(text.slice(0, SHOWN_CHARS)).slice(0, -1).join('')
  return checkApprovalKey(`${beginning}… sha256:${hash('sha256', text)}`)
}

/** Deriving a key only reads the arguments, so it is quick. */
const DERIVATION_MS = 1_000

/**
 * The tool derives the key in its compartment, which starts for that. Rejects with ApprovalKeyInvalid or
 * ApprovalKeyDerivationFailed.
 */
export async function deriveKey(call: ValidatedCall, attempts: Attempts, clock: Clock): Promise<CallAnalysis> {
  const { name, extension } = call.tool
  let compartment = extension.compartment ?? await untilStarted(call, attempts, clock)
  for (;;) {
    if (!compartment.offers.approvalKeys.has(name)) return analysisByKey(name)
    try {
      const analysis = analysisByKey(await deriveAgain(compartment, call, clock))
      return extension.descriptor.code.kind === 'module' ? analysis : { ...analysis, keyByTool: true }
    } catch (thrown) {
      if (!isCompartmentGone(thrown)) throw thrown
      compartment = await untilStarted(call, attempts, clock, compartment)
    }
  }
}

/** Another call may have crashed the compartment. A derivation has no effects, so it is tried once more. */
async function deriveAgain(compartment: CompartmentSession, call: ValidatedCall, clock: Clock): Promise<string> {
  try {
    return await derive(compartment, call, clock)
  } catch (thrown) {
    if (!BulkheadError.is(thrown) || (thrown.code !== 'CompartmentCrashed' && thrown.code !== 'CompartmentKilled')) {
      throw thrown
    }
    return derive(compartment, call, clock)
  }
}

async function derive(compartment: CompartmentSession, call: ValidatedCall, clock: Clock): Promise<string> {
  const limit = new AbortController()
  const stopTimer = clock.after(DERIVATION_MS, () => limit.abort(failed(call, `took longer than ${DERIVATION_MS} ms`)))
  const forget = onAbort(call.signal, () => limit.abort(call.signal.reason))
  try {
    const deriving = compartment.deriveApprovalKey(call.tool.name, call.args, limit.signal)
    return checkApprovalKey(await untilAborted(deriving, limit.signal))
  } catch (thrown) {
    // A throw of the code arrives as a failed execution, but nothing was executed.
    throw BulkheadError.is(thrown) && thrown.code !== 'ToolExecutionFailed'
      ? thrown : failed(call, `threw: ${messageOf(thrown)}`)
  } finally {
    stopTimer()
    forget()
  }
}

const failed = ({ tool: { name } }: ValidatedCall, why: string) =>
  new BulkheadError('ApprovalKeyDerivationFailed', `deriveApprovalKey of "${name}" ${why}.`, { data: { tool: name } })
