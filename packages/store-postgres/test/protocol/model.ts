import {
  BulkheadError, type CallEntry, type HostInfo, type ListedCall, type OpenCall, type Seat, type SeatListener,
  type Store,
} from '@bulkhead/contract'

/** One host as a store knows it. A test can do to it what happens to hosts. */
export interface Land {
  readonly store: Store
  /** Of the next host that joins. */
  pid(): number
  /** Others take the host for gone from now on. It does not know that. */
  judge?(host: string): Promise<void>
  /** Bytes to or from the server wait. */
  hold?(what: 'requests' | 'answers'): void
  release?(): void
  /** Its connections break. What it sent may still arrive. */
  cut?(): void
}

/** The stores of one kind: of three hosts, and one that nothing happens to. */
export interface Lands {
  readonly hosts: readonly Land[]
  readonly calm: Store
  /** A host that others take for gone can act on. */
  readonly canOutlive: boolean
  close(): Promise<void>
}

interface Barrier {
  isListed: boolean
}

export interface ModelCall {
  readonly id: string
  readonly host: ModelHost
  readonly entry: CallEntry
  /** The revision of the approvals that it rests on. */
  readonly revision: number | undefined
  isPending: boolean
  isStarted: boolean
  isOver: boolean
  effects: number
  /** Set once a freeze, or the end of its approval, was confirmed: it may start only if it was listed then. */
  frozen?: Barrier | undefined
  revoked?: Barrier
  /** Another host settled it. */
  settled?: 'CallInterrupted' | 'OutcomeUnknown'
}

export interface ModelHost {
  readonly id: string
  readonly land: Land
  readonly seat: Seat
  readonly calls: ModelCall[]
  isHeld: boolean
  isJudged: boolean
  /** Its calls were taken over, and then it was removed. */
  isOver: boolean
  isDiscarded: boolean
}

/** How many things a step chooses among, for each host. */
export const PICKS = 6

/** What a step may do. `host` and `pick` choose among what is there. */
const WEIGHTS = {
  open: 6, 'open approved': 4, start: 12, note: 6, end: 2, freeze: 3, thaw: 4, approve: 3, revoke: 2, redeem: 2,
  judge: 1, 'take over': 2, join: 2, 'hold requests': 1, 'hold answers': 1, release: 3, cut: 1,
}
export type Act = keyof typeof WEIGHTS
export const STEPS: readonly Act[] = (Object.keys(WEIGHTS) as Act[])
  .flatMap((act) => Array<Act>(WEIGHTS[act]).fill(act))

export interface Step {
  readonly does: Act
  readonly host: number
  readonly pick: number
  /** The next step does not wait for this one. */
  readonly isQuick: boolean
}

export const SILENT: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
const TERMS: OpenCall['terms'] = { sessionId: 's', tool: 't', effects: 'once', origin: {
  layer: 'global', extension: 'sample', version: '1.0.0', digest: 'd',
} }

export const infoOf = (id: string, pid: number): HostInfo =>
  ({ id, pid, machine: 'm', version: '1', workspace: '/a', rules: 'r' })

export const joinHost = async (land: Land, id: string): Promise<ModelHost> => ({
  id, land, seat: await land.store.work!.join(infoOf(id, land.pid()), SILENT), calls: [],
  isHeld: false, isJudged: false, isOver: false, isDiscarded: false,
})

export function openCall(host: ModelHost, id: string, revision: number | undefined): ModelCall {
  const entry = host.seat.open({ terms: TERMS, callId: id })
  const call = { id, host, entry, revision, isPending: false, isStarted: false, isOver: false, effects: 0 }
  host.calls.push(call)
  return call
}

export function endCall(call: ModelCall): void {
  call.isOver = true
  call.entry.end()
}

type Fault = (what: string) => void

/** What another host found of a call, when it took over from the one that had it. */
export function judgeSettled(call: ModelCall, found: ListedCall | undefined, fault: Fault): void {
  if (!found) {
    if (call.isStarted && !call.isOver) fault('was lost')
    // What starts or begins something from now on would never be settled.
    call.frozen = call.revoked = { isListed: false }
    if (!call.isOver) call.settled ??= 'CallInterrupted'
    return
  }
  const verdict = found.begun.length > 0 ? 'OutcomeUnknown' : 'CallInterrupted'
  if (call.settled !== undefined && call.settled !== verdict) fault(`was settled as ${call.settled} and ${verdict}`)
  if (verdict === 'CallInterrupted' && call.effects > 0) fault('was settled as begun nothing, after an effect')
  call.settled = verdict
}

export function judgeLast(call: ModelCall, fault: Fault): void {
  if (call.isStarted && !call.isOver && call.settled === undefined) fault('has no outcome')
  if (call.settled === 'CallInterrupted' && call.effects > 0) fault('was settled as begun nothing')
}

interface Claim {
  readonly by: string
}

/** As a host continues a paused call: one claims it, and the claim of a host that is gone is void. */
export async function claimTicket(store: Store, ticket: string, { id, host }: ModelCall): Promise<void> {
  const by = (await store.read('paused', ticket) as Claim | undefined)?.by
  const isVoid = by !== undefined && await store.work!.isGone(by)
  await store.update('paused', ticket, (stored) => {
    const claim = stored as Claim | undefined
    if (claim && !(isVoid && claim.by === by)) throw new BulkheadError('InteractionAlreadyAnswered', 'Taken.')
    return { by: host.id, call: id }
  })
}
