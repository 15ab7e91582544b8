import { BulkheadError, CALL_LIMITS, checkApprovalKey, type ArgumentsReading } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { ValidatedCall } from './call.ts'
import type { HostContext } from './host-context.ts'
import { approvalKeyOf, type FoundKey } from './approval-key.ts'
import { meaningByKey, type CallMeaning } from './call-view.ts'
import { followLinks } from './effects.ts'
import { ask, deny } from './verdict.ts'
import { sha256 } from '../model/sha256.ts'

/** Told by the host's own reader where there is one for this name; else by a template or by the tool. */
export function meaningOf(call: ValidatedCall, host: HostContext): CallMeaning | Promise<CallMeaning> {
  const reader = host.argumentsReaders.get(call.tool.name)
  if (reader) return meaningOfReading(readSafely(() => reader(call.args, host), call.tool.name), call.tool.origin.layer === 'bundled', host)
  const found = approvalKeyOf(call, host.clock)
  return found instanceof Promise ? found.then(meaningOfKey) : meaningOfKey(found)
}

const meaningOfKey = ({ key, byTool }: FoundKey): CallMeaning =>
  byTool ? { ...meaningByKey(key), keyByTool: true } : meaningByKey(key)

/** `isOurs`: the tool ships with the host. What the arguments say is what is done only then. */
function meaningOfReading(
  { key, subjects, touches, asks, denies, onlyReads, needs, effects }: ArgumentsReading, isOurs: boolean, { realPath }: HostContext,
): CallMeaning {
  return {
    approvalKey: keyOf(key),
    subjects: subjects.map(({ key: one, names, within }) =>
      ({ key: keyOf(one), ...(names && { names }), ...(within && { within: within.map(keyOf) }) })),
    touches,
    verdicts: [
      ...denies.map((reason) => deny('watchdog', 'WatchdogDenied', SOURCE, reason)),
      ...asks.map(({ reason, fresh }) => ask('watchdog', SOURCE, reason, !fresh)),
    ],
    ...(onlyReads === true && isOurs ? { onlyReads } : {}),
    ...(needs && isOurs ? { needs } : {}),
    ...(effects && isOurs ? { effects: () => followLinks(effects, realPath) } : {}),
  }
}

const SOURCE = 'reading of the arguments'
/** Of a key that is too long to be shown whole. */
const SHOWN_CHARS = 200

function readSafely(read: () => ArgumentsReading, tool: string): ArgumentsReading {
  try {
    const reading = read()
    if (reading.subjects.length > 0) return reading
    throw new Error('nothing was found in them')
  } catch (thrown) {
    const text = `The arguments of "${tool}" could not be read: ${messageOf(thrown)}.`
    throw new BulkheadError('ApprovalKeyDerivationFailed', text, { data: { tool }, cause: thrown })
  }
}

/** Readers do not count bytes. A key that is too long is told by its beginning and the digest of all of it. */
function keyOf(text: string): string {
  if (Buffer.byteLength(text) <= CALL_LIMITS.approvalKeyBytes) return checkApprovalKey(text)
  const beginning = Array.from(text.slice(0, SHOWN_CHARS)).slice(0, -1).join('')
  return checkApprovalKey(`${beginning}… sha256:${sha256(text)}`)
}
