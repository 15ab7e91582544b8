import type { Outcome } from '@bulkhead/contract'
import { EXTENSION, unlessCode, withHost, type HostBench, type HostTarget, type VerifiedSession } from './host-bench.ts'
import { groupOf, observed, settle, unlessDone, unlessRejected, type Bench, type Settled } from './verify.ts'

async function observeEnd(target: HostTarget, bench: Bench) {
  return withHost(target, bench, async (world) => {
    const { host, call, events } = world
    const session = await host.openSession({})
    const first = await begin(world, session)
    await settle(() => session.close(), bench)
    const afterSession = await call(session, 'verify_echo', { text: 'a' })
    const last = await begin(world, await host.openSession({}), 300)
    const closed = await Promise.all([settle(() => host.close(), bench), settle(() => host.close(), bench)])
    return {
      cut: await first.end, afterSession, stopped: await last.end, closed,
      afterHost: await settle(async () => void await host.openSession({}), bench), events: [...events],
    }
  })
}

type EndFacts = Awaited<ReturnType<typeof observeEnd>>

interface BegunCall {
  readonly end: Promise<Settled<Outcome>>
}

/** Calls the tool that waits, and resolves once it has begun. */
async function begin({ host, call }: HostBench, session: VerifiedSession, timeoutMs = 60_000): Promise<BegunCall> {
  const begun = Promise.withResolvers<void>()
  const stop = host.on(({ type }) => {
    if (type === 'ToolInvocationProgress') begun.resolve()
  })
  const end = call(session, 'verify_wait', { text: 'a' }, { timeoutMs })
  await Promise.race([begun.promise, end])
  stop()
  return { end }
}

const phasesOf = ({ events }: EndFacts): string => events.flatMap((event) =>
  event.type === 'LifecyclePhaseStart' && event.extensionId === EXTENSION ? [event.phase] : []).join()

const SPEC = 'docs/guides/sessions.md'
const LIFECYCLE = 'docs/guides/lifecycle.md'
export const END = groupOf(observed(observeEnd), [
  {
    id: 'host-session-close', level: 'must', spec: SPEC,
    statement: 'Closing a session ends its running calls with SessionCancelled, and refuses later ones so.',
    why: 'Nothing of a conversation may run on after it.',
    cure: 'Make the signal of a call a child of that of its session.',
    check: ({ cut, afterSession }) =>
      unlessCode(cut, 'SessionCancelled') ?? unlessCode(afterSession, 'SessionCancelled'),
  },
  {
    id: 'host-close', level: 'must', spec: LIFECYCLE,
    statement: 'Closing the host ends every call with an outcome, and closing it twice resolves.',
    why: 'A program must be able to end.',
    cure: 'Wait for running calls, cancel the rest, and return the same promise again.',
    check: ({ stopped, closed: [once, twice] }) => unlessDone(once!) ?? unlessDone(twice!)
      ?? (stopped.value ? undefined : unlessDone(stopped)),
  },
  {
    id: 'host-closed', level: 'must', spec: LIFECYCLE,
    statement: 'A closed host opens no session: HostClosed.',
    why: 'It has no extensions any more.',
    cure: 'Reject openSession from the moment of the close.',
    check: ({ afterHost }) => unlessRejected(afterHost, 'HostClosed'),
  },
  {
    id: 'host-phases', level: 'must', spec: LIFECYCLE,
    statement: 'init and activate run before the first call, deactivate and dispose when the host closes, once each.',
    why: 'Extensions acquire and release in these phases.',
    cure: 'Follow the table LIFECYCLE of @bulkhead/contract.',
    check: (facts) => phasesOf(facts) === 'init,activate,deactivate,dispose' ? undefined
      : `the phases are ${phasesOf(facts) || 'missing'}`,
  },
])
