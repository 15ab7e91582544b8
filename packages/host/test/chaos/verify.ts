import { ERRORS, type BulkheadEvent, type EventOf, type Outcome, type Store } from '@bulkhead/contract'
import { verifyAudit } from '@bulkhead/store'
import type { ChaosWorld } from './chaos-world.ts'

type EndEvent =
  EventOf<'ToolInvocationSucceeded'> | EventOf<'ToolInvocationFailed'> | EventOf<'ToolInvocationCancelled'>

const isEnd = (event: BulkheadEvent): event is EndEvent =>
  event.type === 'ToolInvocationSucceeded'
  || event.type === 'ToolInvocationFailed'
  || event.type === 'ToolInvocationCancelled'

/** The host answers, and the budget was used for the calls that ran, no more and no less. */
export async function verifyAfter(world: ChaosWorld, budget: number): Promise<void> {
  const { host, faults } = world
  const session = await host.openSession().catch((thrown: unknown) => {
    if ((thrown as { code?: unknown }).code !== 'HostClosed') faults.push(`no session can be opened: ${String(thrown)}`)
  })
  if (!session) return
  const verdicts: string[] = []
  // Some may fail: a crash can be noticed after the next call.
  for (let tries = 0; tries < budget + 3 && verdicts.at(-1) !== 'BudgetExhausted'; tries++) {
    const outcome = await world.unfailing(session.call({ id: `after-${tries}`, name: 'open', arguments: {} }))
    verdicts.push(verdictOf(outcome))
  }
  // Without a store, nothing that can have an effect begins.
  const isAnswer = (verdict: string): boolean =>
    verdict === 'output' || (verdict === 'StoreUnavailable' && world.suffers('store'))
  if (!verdicts.some(isAnswer)) faults.push(`the host does not answer any more: ${verdicts.join(', ')}`)
  const ran = world.events.filter((event) => event.type === 'ToolInvocationStarted' && event.attempt === 1).length
  // Without a store, no call starts.
  const isRight = world.suffers('store') ? ran <= budget : ran === budget
  if (!isRight) faults.push(`${ran} calls ran on a budget of ${budget}: ${verdicts.join(', ')}`)
}

/** Faults after which the host cannot close, or does not know, what it opened. */
const KEEPS = ['compartment.close', 'sandbox.open out']

/** After the host is closed: each call has one end, everything is recorded, and nothing is left. */
export async function verifyLeft(world: ChaosWorld): Promise<void> {
  const { faults, outcomes, events, clock, compartments } = world
  for (const outcome of outcomes) if (!isTyped(outcome)) faults.push(`no outcome: ${JSON.stringify(outcome)}`)
  const ends = Map.groupBy(events.filter(isEnd), callOf)
  const proposals = Map.groupBy(events.filter(({ type }) => type === 'ToolInvocationProposed') as EndEvent[], callOf)
  for (const call of new Set([...ends.keys(), ...proposals.keys()])) {
    const found = ends.get(call) ?? []
    // A call that continues after a pause has one end for each run. A call that was rejected at once was never
    // proposed.
    const known = outcomes.filter(({ metadata }) => call.startsWith(`${metadata.call_id} `)).length
    const due = Math.max(proposals.get(call)?.length ?? 1, known)
    if (found.length !== due)
      faults.push(`${call} was begun ${due} times and ended: ${found.map(({ type }) => type).join(', ')}`)
  }
  if (clock.pending > 0) faults.push(`${clock.pending} timers are left`)
  const keeps = KEEPS.some((port) => world.suffers(port))
  if (compartments.size > 0 && !keeps) faults.push(`${compartments.size} compartments are left`)
  await verifyRecord(world, [...ends.keys()])
}

/** The records are a chain, and every lost record was reported. */
async function verifyRecord(world: ChaosWorld, ended: readonly string[]): Promise<void> {
  const { faults, events } = world
  const store = await world.reopenStore()
  try {
    const verdict = await verifyAudit(store)
    if (!verdict.ok) faults.push(`the audit is broken at ${verdict.position}: ${verdict.reason}`)
    const kept = (await store.records()).map(({ record }) => record as unknown as BulkheadEvent)
    const onRecord = new Set(kept.filter(isEnd).map(callOf))
    const missing = ended.filter((call) => !onRecord.has(call))
    const open = await openCalls(store)
    const complained = events.some(({ type }) => type === 'SuppressedError')
    if (missing.length > 0 && !complained) faults.push(`not on record, and not reported: ${missing.join(', ')}`)
    if (open.length > 0 && !complained) faults.push(`open in the journal, and not reported: ${open.join(', ')}`)
    const lost = [...missing, ...open]
    if (lost.length > 0 && !world.suffers('store')) faults.push(`lost though the store works: ${lost.join(', ')}`)
  } finally {
    await store.close()
  }
}

/** The calls that the next host would find open. */
async function openCalls(store: Store): Promise<readonly string[]> {
  return (await store.work!.hosts()).flatMap(({ calls }) => calls).map((call) => JSON.stringify(call))
}

const callOf = ({ sessionId, callId }: Pick<EndEvent, 'sessionId' | 'callId'>): string =>
  `${callId} in ${sessionId.slice(0, 8)}`

const verdictOf = (outcome: Outcome): string => outcome.type === 'output' ? 'output' : outcome.error.code

function isTyped(outcome: Outcome): boolean {
  if (outcome.type === 'output') return 'data' in outcome && outcome.metadata.call_id !== ''
  const { error: { code, class: errorClass }, error_text: text } = outcome
  return Object.hasOwn(ERRORS, code) && ERRORS[code].class === errorClass && text !== ''
}
