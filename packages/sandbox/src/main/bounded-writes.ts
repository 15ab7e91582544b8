import type { BrokerMethod, ErrorCode, Json } from '@bulkhead/contract'
import { CodedError } from '../wire/remote-error.ts'
import type { BrokerMethods } from './broker/broker.ts'

/** Methods that take their time and hold what they were given meanwhile, however long it is. */
const WRITING: readonly BrokerMethod[] = ['fs.write', 'fs.edit', 'state.write', 'session.write']
/** Held for a compartment at once, in characters. One that keeps its turns never comes near. */
const MOST_CHARS = 128 * 1024 * 1024

type Write = (callId: unknown, ...args: readonly Json[]) => Promise<Json>

/** The methods of a broker, with a bound on what the host holds of a compartment until it is written. */
export function boundedWrites(methods: BrokerMethods): BrokerMethods {
  let held = 0
  const bounded = (write: Write): Write => async (callId, ...args) => {
    const chars = charsIn(args)
    if (held > 0 && held + chars > MOST_CHARS) throw busy()
    held += chars
    try {
      return await write(callId, ...args)
    } finally {
      held -= chars
    }
  }
  return Object.assign(Object.create(null) as object, methods,
    Object.fromEntries(WRITING.map((method) => [method, bounded(methods[method])]))) as BrokerMethods
}

/** Contract: of what was parsed under limits, so it is neither deep nor endless. */
function charsIn(value: Json): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let chars = 1
  for (const member of Array.isArray(value) ? value : Object.values(value)) chars += charsIn(member)
  return chars
}

/** As the broker tells it: without a trace of the host. */
function busy(): CodedError {
  const why = `The compartment has ${MOST_CHARS} characters on their way to be written. Wait for some of them.`
  const told = new CodedError('ResourceBusy' satisfies ErrorCode, why)
  delete told.stack
  return told
}
