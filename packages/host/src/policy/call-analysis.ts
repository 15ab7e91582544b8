import { BulkheadError, CALL_LIMITS, checkApprovalKey, type ArgumentsReading } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { ValidatedCall } from './call.ts'
import type { HostContext } from './host-context.ts'
import { approvalKeyOf } from './approval-key.ts'
import { analysisByKey, type CallAnalysis } from './checked-call.ts'
import { followLinks } from './effects.ts'
import { ask, deny } from './verdict.ts'
import { sha256 } from '../model/sha256.ts'

/** The host's own reader analyses the arguments if there is one for this name. Otherwise a template or the tool derives the key. */
export async function analyzeCall(call: ValidatedCall, host: HostContext): Promise<CallAnalysis> {
  const reader = host.argumentsReaders.get(call.tool.name)
  if (reader) return analysisOf(readSafely(() => reader(call.args, host), call.tool.name), call.tool.origin.layer === 'bundled', host)
  const { key, byTool } = await approvalKeyOf(call, host.clock)
  return byTool ? { ...analysisByKey(key), keyByTool: true } : analysisByKey(key)
}

/** `isBundled`: only a tool that ships with the host is known to do what its arguments say. */
function analysisOf(
  { key, subjects, touches, asks, denies, onlyReads, needs, effects }: ArgumentsReading, isBundled: boolean, { realPath }: HostContext,
): CallAnalysis {
  return {
    approvalKey: keyOf(key),
    subjects: subjects.map(({ key: one, names, within }) =>
      ({ key: keyOf(one), ...(names && { names }), ...(within && { within: within.map(keyOf) }) })),
    touches,
    verdicts: [
      ...denies.map((reason) => deny('watchdog', 'WatchdogDenied', SOURCE, reason)),
      ...asks.map(({ reason, fresh }) => ask('watchdog', SOURCE, reason, !fresh)),
    ],
    ...(onlyReads === true && isBundled ? { onlyReads } : {}),
    ...(needs && isBundled ? { needs } : {}),
    ...(effects && isBundled ? { effects: () => followLinks(effects, realPath) } : {}),
  }
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
function keyOf(text: string): string {
  if (Buffer.byteLength(text) <= CALL_LIMITS.approvalKeyBytes) return checkApprovalKey(text)
  const beginning = Array.from(text.slice(0, SHOWN_CHARS)).slice(0, -1).join('')
  return checkApprovalKey(`${beginning}… sha256:${sha256(text)}`)
}
