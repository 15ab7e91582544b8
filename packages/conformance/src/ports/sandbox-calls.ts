import type { CompartmentServices } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { firstOf } from '../requirement.ts'
import { withSandbox, type ExampleCompartment, type SandboxTarget } from './sandbox-bench.ts'
import { groupOf, observed, settle, unlessRejected, unlessResolved, type Bench, type Settled } from './verify.ts'

const SOURCE = `
let running = 0, most = 0
export default { tools: {
  echo: { execute: (args, runtime) => ({ args, tool: runtime.toolName, callId: runtime.callId }) },
  nothing: { execute() {} }, absent: { execute: () => ({ a: undefined }) },
  map: { execute: () => new Map([['a', 1]]) },
  cycle: { execute() { const cycle = {}; cycle.self = cycle; return cycle } },
  big: { execute: ({ size }) => 'x'.repeat(size) },
  fail: { execute({ code }) { throw Object.assign(new Error('broken on purpose'), { code }) } },
  report: { async execute(args, runtime) {
    for (const text of ['one', 'two', 'three']) runtime.progress(text)
    runtime.update({ done: true })
    return 'reported'
  } },
  crowd: { async execute(args, runtime) {
    most = Math.max(most, ++running)
    await runtime.interact.confirm('Continue?')
    running--
    return most
  } },
  key: { execute() {}, deriveApprovalKey: ({ city }) => 'city:' + city },
  odd: { execute() {}, deriveApprovalKey: () => 7 },
} }
`
const TOOLS: ExampleCompartment['tools'] = {
  echo: {}, nothing: {}, absent: {}, map: {}, cycle: {}, big: {}, fail: {}, report: {}, key: {}, odd: {},
  crowd: { capabilities: ['interact'] },
}
const STATE = { slotVersion: '1', data: { n: 7 } }
const OUTPUT_BYTES = 4096
const MOST_CALLS = 2
const ARGUMENTS = { text: 'grüße \u{1F6A2}', list: [1, null, true, { deep: [] }], empty: {} }

async function observeCalls(target: SandboxTarget, bench: Bench) {
  return withSandbox(target, bench, async ({ open }) => {
    const held: (() => void)[] = []
    const interact: CompartmentServices['interact'] = () => new Promise((resolve) => {
      held.push(() => resolve({ status: 'accepted', value: true }))
      // Two by two: those beyond the limit have begun by then, if the sandbox lets them.
      if (held.length === MOST_CALLS) for (const answer of held.splice(0)) answer()
    })
    const limits = { outputBytes: OUTPUT_BYTES, concurrentCalls: MOST_CALLS }
    const { session, call } = await open({ source: SOURCE, tools: TOOLS, limits, services: { interact } })
    const reports: string[] = []
    const reported = await call('report', {}, {
      onProgress: (text) => void reports.push(text), onUpdate: (partial) => void reports.push(JSON.stringify(partial)),
    })
    reports.push('end')
    const { signal } = new AbortController()
    const derive = (tool: string): Promise<Settled<string>> =>
      settle(() => session.deriveApprovalKey(tool, { city: 'Oslo' }, signal), bench)
    const migrate = async (body: string): Promise<Settled<Json>> => {
      const source = `export default { tools: { run: { execute() {} } }, async migrateState(stored) { ${body} } }`
      const migrating = await open({ source, tools: { run: {} } })
      return settle(() => migrating.session.migrateState(STATE, signal), bench)
    }
    return {
      reported, reports,
      echo: await call('echo', ARGUMENTS, { callId: 'verify-echo' }), nothing: await call('nothing'),
      absent: await call('absent'),
      notJson: [await call('map'), await call('cycle')],
      big: await call('big', { size: OUTPUT_BYTES + 1 }), fitting: await call('big', { size: OUTPUT_BYTES - 10 }),
      thrown: await call('fail'), ownCode: await call('fail', { code: 'NotFound' }),
      hostCode: await call('fail', { code: 'SessionCancelled' }),
      crowd: await Promise.all(Array.from({ length: 6 }, () => call('crowd'))),
      together: await Promise.all(Array.from({ length: 20 }, (_, index) =>
        call(index % 2 ? 'echo' : 'fail', { index }))),
      keys: [await derive('key'), await derive('odd')],
      migrated: await migrate('return { slotVersion: "2", data: { was: stored } }'),
      notMigrated: [
        await settle(() => session.migrateState(STATE, signal), bench), await migrate('throw new Error("no")'),
        await migrate('return 1n'),
      ],
      inFlight: session.inFlight, offers: [...session.offers.approvalKeys].toSorted(),
    }
  })
}

const member = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, Json>)[name] : undefined
const ECHO = { args: ARGUMENTS, tool: 'echo', callId: 'verify-echo' }
const unlessSays = ({ error }: Settled<Json>, message: string): string | undefined =>
  error?.message.includes(message) ? undefined : `the message is "${error?.message}"`

const SPEC = 'docs/guides/publishing.md'
export const CALLS = groupOf(observed(observeCalls), [
  {
    id: 'sandbox-result', level: 'must', spec: SPEC,
    statement: 'A call runs its tool with the given arguments and resolves with what the tool returns.',
    why: 'Arguments and results cross the boundary unchanged.',
    cure: 'Copy both as JSON. A tool that returns nothing returns null.',
    check: ({ echo, nothing, absent }) =>
      unlessResolved(echo, ECHO) ?? unlessResolved(nothing, null) ?? unlessResolved(absent, {}),
  },
  {
    id: 'sandbox-result-json', level: 'must', spec: SPEC,
    statement: 'A result that is not JSON rejects with OutputMalformed.',
    why: 'It would arrive as something else than the tool returned.',
    cure: 'Refuse maps, functions, cycles and other values without a JSON form.',
    check: ({ notJson }) => firstOf(notJson, (one) => unlessRejected(one, 'OutputMalformed')),
  },
  {
    id: 'sandbox-result-size', level: 'must', spec: 'docs/reference/limits.md',
    statement: 'A result beyond outputBytes rejects with OutputTooLarge, and one within it resolves.',
    why: 'A tool must not fill the memory of the host.',
    cure: 'Count the bytes of the JSON on both sides of the boundary.',
    check: ({ big, fitting }) =>
      unlessRejected(big, 'OutputTooLarge') ?? unlessResolved(fitting, 'x'.repeat(OUTPUT_BYTES - 10)),
  },
  {
    id: 'sandbox-tool-error', level: 'must', spec: SPEC,
    statement: 'A tool that throws rejects its call with ToolExecutionFailed and its message.',
    why: 'A model reads the message to correct its call.',
    cure: 'Wrap whatever the tool throws.',
    check: ({ thrown }) => unlessRejected(thrown, 'ToolExecutionFailed') ?? unlessSays(thrown, 'broken on purpose'),
  },
  {
    id: 'sandbox-error-codes', level: 'must', spec: SPEC,
    statement: 'A tool may use the error codes of tools, such as NotFound, and no code of the host.',
    why: 'A tool could end a session by pretending that a person cancelled it.',
    cure: 'Replace codes that do not belong to tools by ToolExecutionFailed.',
    check: ({ ownCode, hostCode }) =>
      unlessRejected(ownCode, 'NotFound') ?? unlessRejected(hostCode, 'ToolExecutionFailed'),
  },
  {
    id: 'sandbox-settles-once', level: 'must', spec: 'docs/guides/embedding.md',
    statement: 'Every call settles exactly once, with its own result, also if many run together.',
    why: 'A call without an end stops an agent, and a mixed-up one misleads it.',
    cure: 'Match answers to calls by id, and drop an answer to a call that has ended.',
    check: ({ together, inFlight }) => firstOf(together.keys(), (index) => {
      const one = together[index]!
      if (one.times !== 1) return `a call settled ${one.times} times`
      const isOwn = index % 2 ? member(member(one.value, 'args'), 'index') === index
        : one.error?.code === 'ToolExecutionFailed'
      return isOwn ? undefined : `the call ${index} got another result`
    }) ?? (inFlight === 0 ? undefined : `inFlight is ${inFlight} afterwards`),
  },
  {
    id: 'sandbox-progress', level: 'must', spec: SPEC,
    statement: 'Progress and updates of a tool arrive in order, before its call settles.',
    why: 'A person watches them, and nothing may follow the end.',
    cure: 'Send them on the channel of the result.',
    check: ({ reports }) =>
      reports.join() === 'one,two,three,{"done":true},end' ? undefined : `the order is ${reports.join()}`,
  },
  {
    id: 'sandbox-concurrency', level: 'must', spec: 'docs/reference/limits.md',
    statement: 'At most concurrentCalls calls run at once. Further calls wait and then run.',
    why: 'Each call takes memory, and none may be lost.',
    cure: 'Queue calls in the host, before they are sent.',
    check: ({ crowd }) => firstOf(crowd, (one) => one.error || one.times === 0 ? unlessResolved(one, MOST_CALLS)
      : Number(one.value) > MOST_CALLS ? `${String(one.value)} calls ran at once` : undefined),
  },
  {
    id: 'sandbox-approval-key', level: 'must', spec: 'docs/guides/approvals.md',
    statement: 'deriveApprovalKey returns the key of the tool, and rejects if it is not a string.',
    why: 'An approval covers this key.',
    cure: 'Run deriveApprovalKey of the tool, and name in `offers` the tools that have it.',
    check: ({ keys: [key, odd], offers }) => unlessResolved(key!, 'city:Oslo')
      ?? unlessRejected(odd!, 'ApprovalKeyDerivationFailed')
      ?? (offers.join() === 'key,odd' ? undefined : `offers.approvalKeys is ${offers.join()}`),
  },
  {
    id: 'sandbox-migration', level: 'must', spec: 'docs/guides/sessions.md',
    statement: 'migrateState resolves with what the code returns, or rejects with SlotMigrationFailed.',
    why: 'Stored state must not be replaced by nothing.',
    cure: 'Do not resolve without a migrated value.',
    check: ({ migrated, notMigrated }) => unlessResolved(migrated, { slotVersion: '2', data: { was: STATE } })
      ?? firstOf(notMigrated, (one) => unlessRejected(one, 'SlotMigrationFailed')),
  },
])
