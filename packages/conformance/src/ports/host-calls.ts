import { ERRORS, type Outcome } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { firstOf } from '../requirement.ts'
import {
  EXTENSION, TOOL_NAMES, unlessCode, unlessOutput, withHost, type HostTarget,
} from './host-bench.ts'
import { groupOf, observed, type Bench, type Settled } from './verify.ts'

async function observeCalls(target: HostTarget, bench: Bench) {
  return withHost(target, bench, async ({ host, events, call }) => {
    const session = await host.openSession({ mode: 'ask' })
    const echo = await call(session, 'verify_echo', { text: 'grüße' }, { id: 'echo' })
    const unknown = await call(session, 'verify_ecko', {}, { id: 'unknown' })
    const invalid: Settled<Outcome>[] = []
    for (const [index, args] of [{}, { text: 7 }, { text: 'a', more: 1 }, '{"text":"a"}', null].entries()) {
      invalid.push(await call(session, 'verify_echo', args, { id: `invalid-${index}` }))
    }
    const malformed = [
      await call(session, 'verify_echo', { text: 'a' }, { id: '' }),
      await call(session, '', { text: 'a' }), await call(session, 'verify_echo', { text: 'a' }, { timeoutMs: -1 }),
    ]
    const failed = await call(session, 'verify_fail', { text: 'a' }, { id: 'failed' })
    const together = await Promise.all(Array.from({ length: 20 }, (_, index) =>
      call(session, index % 2 ? 'verify_echo' : 'verify_fail', { text: `${index}` }, { id: `together-${index}` })))
    const cancel = new AbortController()
    const stop = host.on((event) => {
      if (event.type === 'ToolInvocationProgress' && event.callId === 'cancelled') cancel.abort()
    })
    const cancelled = await call(session, 'verify_wait', { text: 'a' }, { id: 'cancelled', signal: cancel.signal })
    stop()
    const late = await call(session, 'verify_wait', { text: 'a' }, { id: 'late', timeoutMs: 100 })
    const crashed = await call(session, 'verify_crash', { text: 'a' }, { id: 'crashed' })
    const restarted = await call(session, 'verify_echo', { text: 'again' }, { id: 'restarted' })
    const audit = (await host.audit()).map(({ record }) => record)
    return {
      tools: host.tools(), echo, unknown, invalid, malformed, failed, together, cancelled, late, crashed, restarted,
      audit, events: [...events],
    }
  })
}

type CallFacts = Awaited<ReturnType<typeof observeCalls>>

const DECIDED = 'ToolInvocationDecided'
const ENDS = ['ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled']
const AUDITED: ReadonlySet<string> = new Set([DECIDED, ...ENDS])
/** The events of a call, without their common beginning. */
const eventsOf = ({ events }: CallFacts, callId: string): readonly string[] =>
  events.filter((event) => 'callId' in event && event.callId === callId && event.type.startsWith('ToolInvocation'))
    .map(({ type }) => type.slice('ToolInvocation'.length))
const member = (record: Json, name: string): Json | undefined => (record as Record<string, Json> | null)?.[name]
const dataOf = ({ value }: Settled<Outcome>): Json | undefined => value?.type === 'output' ? value.data : undefined

/** Evidence if an outcome does not have the documented form. */
function formFault(call: string, { value }: Settled<Outcome>): string | undefined {
  if (!value) return `${call} has no outcome`
  const { metadata } = value
  if (typeof metadata?.call_id !== 'string' || typeof metadata.tool !== 'string') return `${call} has no metadata`
  if (!(metadata.duration_ms >= 0) || !(metadata.attempt >= 0)) return `${call} has no duration or attempt`
  if (value.type === 'output') return value.data === undefined ? `${call} has no data` : undefined
  if (value.type !== 'error') return `${call} has the type ${(value as { readonly type: string }).type}`
  const { code, class: errorClass, retryable } = value.error
  const row = Object.hasOwn(ERRORS, code) ? ERRORS[code] : undefined
  if (row?.class !== errorClass || row.retryable !== retryable) return `${call} has an error that is not in the table`
  return value.error_text ? undefined : `${call} has no error_text`
}

const CALLS_SPEC = 'docs/guides/embedding.md'
const ERRORS_SPEC = 'docs/reference/errors.md'
export const CALLS = groupOf(observed(observeCalls), [
  {
    id: 'host-tools', level: 'must', spec: CALLS_SPEC,
    statement: 'tools() lists the tools of every loaded extension, with their origin.',
    why: 'That is what a model is offered.',
    cure: 'Register every extension that the loader reports.',
    check: ({ tools }) => firstOf(TOOL_NAMES, (name) => {
      const tool = tools.find((one) => one.name === name)
      if (!tool) return `${name} is missing`
      const isRight = tool.layer === 'global' && tool.extension === EXTENSION && tool.version === '1.0.0'
      return isRight && tool.gated === (name === 'verify_write') ? undefined : `${name} has another origin or gate`
    }),
  },
  {
    id: 'host-output', level: 'must', spec: CALLS_SPEC,
    statement: 'A call that is allowed runs its tool and ends with its result, under its id and origin.',
    why: 'A model matches results to calls by id.',
    cure: 'Return the value of the sandbox as `data`.',
    check: ({ echo }) => {
      const isSame = canonicalJson(dataOf(echo) ?? null) === canonicalJson({ text: 'grüße' })
      if (!isSame) return unlessOutput(echo) ?? 'the data is not what the tool returned'
      const { call_id: id, origin } = echo.value!.metadata
      return id === 'echo' && origin?.extension === EXTENSION ? undefined : 'its metadata names another call or origin'
    },
  },
  {
    id: 'host-unknown-tool', level: 'must', spec: ERRORS_SPEC,
    statement: 'A call of an unknown tool ends with ToolNotRegistered.',
    why: 'Models invent names. The agent must go on.',
    cure: 'Return an error outcome; do not reject.',
    check: ({ unknown }) => unlessCode(unknown, 'ToolNotRegistered'),
  },
  {
    id: 'host-invalid-arguments', level: 'must', spec: ERRORS_SPEC,
    statement: 'Arguments that break the input schema end with InputInvalid, and the tool does not run.',
    why: 'A tool relies on its schema.',
    cure: 'Validate before any policy. Do not parse strings.',
    check: (facts) => firstOf(facts.invalid, (one) => unlessCode(one, 'InputInvalid'))
      ?? firstOf(facts.invalid.keys(), (index) =>
        eventsOf(facts, `invalid-${index}`).includes('Started') ? 'the tool ran' : undefined),
  },
  {
    id: 'host-malformed-call', level: 'must', spec: ERRORS_SPEC,
    statement: 'A call without an id or a name, or with an invalid time limit, ends with InputInvalid.',
    why: 'It comes from a model or a network.',
    cure: 'Check the call itself before you look up the tool.',
    check: ({ malformed }) => firstOf(malformed, (one) => unlessCode(one, 'InputInvalid')),
  },
  {
    id: 'host-tool-error', level: 'must', spec: ERRORS_SPEC,
    statement: 'A tool that throws ends its call with ToolExecutionFailed, and error_text has its message.',
    why: 'The model reads it.',
    cure: 'Turn the error of the sandbox into an outcome.',
    check: ({ failed }) => unlessCode(failed, 'ToolExecutionFailed')
      ?? (failed.value?.type === 'error' && failed.value.error_text.includes('broken on purpose') ? undefined
        : 'the message is missing'),
  },
  {
    id: 'host-outcome', level: 'must', spec: CALLS_SPEC,
    statement: 'Every outcome has the same form, and its error has the class of the error table.',
    why: 'Embedders branch on type, code and class.',
    cure: 'Make outcomes in one place.',
    check: ({ echo, unknown, invalid: [invalid], failed, cancelled, late, crashed }) => firstOf(
      Object.entries({ echo, unknown, invalid: invalid!, failed, cancelled, late, crashed }),
      ([name, settled]) => formFault(`the call "${name}"`, settled),
    ),
  },
  {
    id: 'host-settles-once', level: 'must', spec: CALLS_SPEC,
    statement: 'Every call ends exactly once, with its own outcome and one end event, also if many run together.',
    why: 'A call without an end stops an agent.',
    cure: 'Settle a call in one place, and emit its end there.',
    check: (facts) => firstOf(facts.together.keys(), (index) => {
      const one = facts.together[index]!
      const ends = facts.events.filter((event) =>
        'callId' in event && event.callId === `together-${index}` && ENDS.includes(event.type)).length
      if (one.times !== 1 || ends !== 1) return `a call settled ${one.times} times with ${ends} end events`
      const isOwn = one.value?.metadata.call_id === `together-${index}`
        && (index % 2 ? member(dataOf(one) ?? null, 'text') === `${index}` : one.value.type === 'error')
      return isOwn ? undefined : `the call ${index} has another outcome`
    }),
  },
  {
    id: 'host-cancel', level: 'must', spec: 'docs/guides/sessions.md',
    statement: 'A call whose signal is aborted ends with ToolCancelled.',
    why: 'A person stops one call and goes on.',
    cure: 'Pass the signal to the sandbox, and end the call at once.',
    check: ({ cancelled }) => unlessCode(cancelled, 'ToolCancelled'),
  },
  {
    id: 'host-deadline', level: 'must', spec: ERRORS_SPEC,
    statement: 'A call that takes longer than its time limit ends with ExecutionTimeout.',
    why: 'A tool that hangs must not stop an agent.',
    cure: 'Measure in the host, and cancel the call in the sandbox.',
    check: ({ late }) => unlessCode(late, 'ExecutionTimeout'),
  },
  {
    id: 'host-crash', level: 'must', spec: ERRORS_SPEC,
    statement: 'A crash of the extension ends its call with CompartmentCrashed.',
    why: 'The host and the other extensions go on.',
    cure: 'Turn the error of the sandbox into an outcome.',
    check: ({ crashed }) => unlessCode(crashed, 'CompartmentCrashed'),
  },
  {
    id: 'host-restart', level: 'must', spec: 'docs/guides/lifecycle.md',
    statement: 'The next call after a crash starts the extension again.',
    why: 'One crash must not disable a tool.',
    cure: 'Open a new compartment, and run init and activate.',
    check: ({ restarted }) => unlessOutput(restarted),
  },
  {
    id: 'host-events', level: 'must', spec: 'docs/reference/events.md',
    statement: 'A call emits Proposed, Decided, Started, its progress and one end, in this order.',
    why: 'Interfaces, metrics and audits are made from events.',
    cure: 'Emit each event in the stage that it belongs to.',
    check: (facts) => firstOf([
      ['echo', 'Proposed,Decided,Started,Progress,Succeeded'], ['failed', 'Proposed,Decided,Started,Failed'],
      ['cancelled', 'Proposed,Decided,Started,Progress,Cancelled'],
    ] as const, ([callId, expected]) => {
      const order = eventsOf(facts, callId).join()
      return order === expected ? undefined : `the events of the call "${callId}" are ${order || 'missing'}`
    }),
  },
  {
    id: 'host-audit', level: 'must', spec: 'docs/guides/audit.md',
    statement: 'The audit has the decision and the end of every call, once and in this order.',
    why: 'An operator proves later what happened.',
    cure: 'Store both events of each call, in the order in which they were emitted.',
    check: ({ audit }) => firstOf(['echo', 'failed', 'cancelled', 'crashed', 'together-1'], (callId) => {
      const types = audit.filter((record) => member(record, 'callId') === callId)
        .map((record) => String(member(record, 'type'))).filter((type) => AUDITED.has(type))
      const [decision, end, ...more] = types
      const isRight = decision === DECIDED && end !== undefined && end !== DECIDED && more.length === 0
      return isRight ? undefined : `the records of the call "${callId}" are ${types.join(', ') || 'missing'}`
    }),
  },
])
