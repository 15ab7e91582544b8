import type { Interactor } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { CallCheck, Session } from '../../src/index.ts'
import type { ChaosWorld } from './chaos-world.ts'

/** One use of a host. Contract: without a fault the outcomes are `expected`, in the order the calls ended. */
export interface Scenario {
  readonly name: string
  readonly expected: readonly string[]
  run(world: ChaosWorld): Promise<void>
}

const answering = (value: Json): Interactor => ({ interact: async () => ({ status: 'accepted', value }) })
const scenario = (name: string, expected: readonly string[], run: Scenario['run']): Scenario => ({
  name, expected, run,
})
const calls = (world: ChaosWorld, names: readonly string[]) =>
  names.map((name) => ({ id: world.nextId(), name, arguments: {} }))

export const SCENARIOS: readonly Scenario[] = [
  scenario('allowed', ['output'], async (world) => {
    const rules = [{ permission: 'long', pattern: '*', action: 'allow' }] as const
    await world.call(await world.openSession({ rules }), 'long')
  }),
  scenario('approved once', ['output'], async (world) => {
    await world.call(await world.openSession({ interactor: answering({ decision: 'once' }) }), 'echo', { key: 'k' })
  }),
  scenario('approved for the session', ['output', 'output'], async (world) => {
    const session = await world.openSession({ interactor: answering({ decision: 'session' }) })
    for (const _ of [1, 2]) await world.call(session, 'echo')
  }),
  scenario('approved for the project', ['output', 'output'], async (world) => {
    // Its name is its key: an approval of a derived key ends with the session.
    await world.call(await world.openSession({ interactor: answering({ decision: 'project' }) }), 'long')
    await world.call(await world.openSession(), 'long')
  }),
  scenario('rejected', ['ApprovalDenied'], async (world) => {
    await world.call(await world.openSession({ interactor: answering({ decision: 'reject', reason: 'no' }) }), 'echo')
  }),
  scenario('denied', ['WatchdogDenied'], async (world) => {
    await world.call(await world.openSession({ watchdog: () => ({ action: 'deny', reason: 'no' }) }), 'open')
  }),
  scenario('granted by the stage of a workflow', ['output', 'output'], async (world) => {
    const stage = { stageExecutionId: 's1', name: 'plan', attempt: 1, allowedTools: ['long'] }
    const session = await world.openSession({
      stateMachine: { id: 'flow', stage: () => stage }, interactor: answering(true),
    })
    for (const name of ['long', 'echo']) await world.call(session, name)
  }),
  scenario('with other arguments than it came with', ['output'], async (world) => {
    const watchdog: CallCheck = ({ args: { key } }) =>
      key === 'k' ? { action: 'change', arguments: { key: 'l' }, reason: 'it is better' } : undefined
    await world.call(await world.openSession({ watchdog, interactor: answering({ decision: 'once' }) }), 'echo', {
      key: 'k',
    })
  }),
  scenario('tried again', ['output'], async (world) => {
    await world.call(await world.openSession(), 'busy', { token: crypto.randomUUID() })
  }),
  scenario('cancelled', ['ToolCancelled'], async (world) => {
    const session = await world.openSession()
    void world.untilEvent('ToolInvocationProgress').then(() => world.cancel.abort())
    await world.call(session, 'wait')
  }),
  scenario('late', ['ExecutionTimeout'], async (world) => {
    const session = await world.openSession()
    void world.untilEvent('ToolInvocationProgress').then(() => world.clock.pass(60_000))
    await world.call(session, 'wait', {}, 60_000)
  }),
  scenario('three at once', ['output', 'output', 'output'], async (world) => {
    const session = await world.openSession({ interactor: answering({ decision: 'once' }) })
    await all(world, session, ['echo', 'open', 'echo'], { strategy: 'parallel' })
  }),
  scenario('in batches, steered', ['output', 'output', 'SkippedBySteering'], async (world) => {
    const steering = world.crossings.port('steering', async () => true)
    await all(world, await world.openSession(), ['open', 'open', 'open'], { strategy: { batched: 2 }, steering })
  }),
  scenario('made by a tool', ['output'], async (world) => {
    const rules = [{ permission: 'outer', pattern: '*', action: 'allow' }] as const
    await world.call(await world.openSession({ rules }), 'outer')
  }),
  scenario('paused and resumed', ['ClarificationNeeded', 'output'], async (world) => {
    const session = await world.openSession({ pause: true })
    await world.call(session, 'wonder')
    const [paused] = await world.host.pausedCalls()
    if (paused) world.settled(await session.resume(paused.id, 'Oslo', { signal: world.cancel.signal }))
  }),
  scenario('reloaded meanwhile', ['ToolCancelled', 'output'], async (world) => {
    const session = await world.openSession()
    const waiting = world.call(session, 'wait')
    await Promise.race([world.untilEvent('ToolInvocationProgress'), waiting])
    world.version = 2
    await Promise.race([world.host.reload(), waiting]).catch(() => {})
    world.cancel.abort()
    await waiting
    world.cancel = new AbortController()
    await world.call(session, 'open')
  }),
  scenario('closed meanwhile', ['HostClosed'], async (world) => {
    const waiting = world.call(await world.openSession(), 'wait')
    await Promise.race([world.untilEvent('ToolInvocationProgress'), waiting])
    const closed = world.host.close()
    world.clock.pass(60_000)
    await Promise.all([waiting, closed])
  }),
]

async function all(
  world: ChaosWorld, session: Session, names: readonly string[], options: Parameters<Session['callAll']>[1],
) {
  const outcomes = await world.unfailing(
    session.callAll(calls(world, names), { signal: world.cancel.signal, ...options }),
  )
  for (const outcome of outcomes) world.settled(outcome)
}
