import { setTimeout as sleep } from 'node:timers/promises'
import type {
  CallTerms, Freeze, HostInfo, OpenCall, Seat, SeatListener, Started, Store, Work,
} from '@bulkhead/contract'
import { storeGroup, type StoreBench } from './store-bench.ts'
import { settle, unlessRejected, unlessSame } from './verify.ts'

// What a store keeps about the hosts on it: their seats, their open calls, what they show, and the gate of calls.

const SPEC = 'docs/guides/embedding.md'

const infoOf = (id: string): HostInfo =>
  ({ id, pid: process.pid, machine: 'verification', version: '1', workspace: '/a', rules: 'r' })
const SILENT: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
const TERMS: CallTerms = {
  sessionId: 's', tool: 'write', effects: 'once', verify: 'look',
  origin: { layer: 'global', extension: 'sample', version: '1.0.0', digest: 'd' },
}
const callOf = (callId: string): OpenCall => ({ terms: TERMS, callId })
const EFFECT = { attempt: 1, at: 2, what: 'writes a' }

interface Pair {
  readonly stores: readonly [Store, Store]
  readonly here: Work
  readonly there: Work
  readonly mine: Seat
  readonly other: Seat
}

/** Two hosts on one store. undefined for a store that knows no hosts. */
async function pairOf({ shared }: StoreBench, listener: SeatListener = SILENT): Promise<Pair | undefined> {
  const stores = await shared()
  const [here, there] = [stores[0].work, stores[1].work]
  if (!here || !there) return undefined
  const [mine, other] = [await here.join(infoOf('a'), SILENT), await there.join(infoOf('b'), listener)]
  return { stores, here, there, mine, other }
}

/** Starts a call that rests on no approval, unless a revision is given. */
async function start(seat: Seat, callId: string, revision?: number): Promise<Started> {
  const entry = seat.open(callOf(callId))
  const started = await entry.start({ at: 1, revision, isInline: true })
  if (started.is !== 'started') entry.end()
  return started
}

const calls = async (work: Work, host: string): Promise<readonly string[]> =>
  ((await work.hosts()).find(({ id }) => id === host)?.calls ?? []).map(({ callId }) => callId).toSorted()

export const HOSTS = storeGroup([
  {
    id: 'store-calls', level: 'must', spec: SPEC,
    statement: 'A call that has started is listed for other hosts, with what it began, until it ends.',
    why: 'The next host settles what a host left, by what it had begun.',
    cure: 'Keep the entry before `start` and `begin` resolve, and remove it after `end`.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair) return undefined
      const entry = pair.mine.open({ ...callOf('one'), outcomeAt: 'place' })
      await entry.start({ at: 1, revision: undefined, isInline: true })
      await entry.begin(EFFECT)
      const noted = pair.mine.open(callOf('two'))
      await noted.start({ at: 3, revision: undefined, isInline: true, begins: { ...EFFECT, step: 'first' } })
      const listed = (await pair.there.hosts()).find(({ id }) => id === 'a')?.calls
        .toSorted((one, next) => one.startedAt - next.startedAt)
      entry.end()
      entry.end()
      noted.end()
      const gone = await within(bench.patienceMs, async () => (await calls(pair.there, 'a')).length === 0)
      return unlessSame(listed, [
        { ...TERMS, callId: 'one', outcomeAt: 'place', startedAt: 1, begun: [EFFECT] },
        { ...TERMS, callId: 'two', startedAt: 3, begun: [{ ...EFFECT, step: 'first' }] },
      ]) ?? (gone ? undefined : 'a call that has ended is still listed')
    },
  },
  {
    id: 'store-calls-waiting', level: 'must', spec: SPEC,
    statement: 'A call that waits for long before its start is saved, too.',
    why: 'It may wait for a person while its host ends.',
    cure: 'Save what was opened after some milliseconds.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair || pair.stores[0].forgets) return undefined
      pair.mine.open(callOf('waits'))
      const isThere = await within(bench.patienceMs, async () => (await calls(pair.there, 'a')).join() === 'waits')
      return isThere ? undefined : 'it was not saved'
    },
  },
  {
    id: 'store-join-once', level: 'must', spec: SPEC,
    statement: 'A second host with the same id is refused with StoreUnavailable.',
    why: 'Two hosts would drop the calls of each other.',
    cure: 'Add hosts under a unique key.',
    async check(bench) {
      const pair = await pairOf(bench)
      return pair && unlessRejected(await settle(() => pair.there.join(infoOf('a'), SILENT), bench), 'StoreUnavailable')
    },
  },
  {
    id: 'store-shown', level: 'must', spec: SPEC,
    statement: 'What a host shows and says about itself is listed for others, until it hides it.',
    why: 'People look at all hosts from one of them.',
    cure: 'Keep rows by host, kind and id.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair) return undefined
      pair.mine.show('session', 's1', { since: 1 })
      pair.mine.show('session', 's2', { since: 2 })
      pair.mine.show('question', 's1', { since: 3 })
      const use = { at: 1, memoryBytes: 2, cpuShare: 0.5, restarts: 0, walls: ['w'] }
      pair.mine.describe({ workspace: '/b', rules: 'q', use })
      pair.mine.hide('session', 's2')
      await pair.mine.settled()
      const found = (await pair.there.hosts()).find(({ id }) => id === 'a')
      pair.mine.hide('session', 's1')
      await pair.mine.settled()
      const [later] = await pair.there.hosts()
      return unlessSame(
        found && [found.workspace, found.rules, found.use, found.machine, found.state, found.sessions, found.questions],
        ['/b', 'q', use, 'verification', 'live', [{ id: 's1', row: { since: 1 } }], [{ id: 's1', row: { since: 3 } }]],
      ) ?? unlessSame(later?.sessions, [], 'what is hidden')
    },
  },
  {
    id: 'store-take-over', level: 'must', spec: SPEC,
    statement: 'The calls of a host that left are taken over by one host, until it discards them. No living host is.',
    why: 'Each interrupted call is settled once.',
    cure: 'Claim the host in one step, and compare whether it is gone in the same step.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair || pair.stores[0].forgets) return undefined
      const third = await pair.here.join(infoOf('c'), SILENT)
      await start(pair.mine, 'open')
      const early = await pair.other.takeOver('a')
      await pair.mine.leave()
      const isGone = await pair.there.isGone('a')
      const taken = await Promise.all([pair.other, third].map((seat) => seat.takeOver('a')))
      const winner = taken.find((found) => found !== undefined)
      const seat = taken[0] === undefined ? third : pair.other
      await seat.discard('a')
      const left = (await pair.here.hosts()).map(({ id }) => id)
      return unlessSame(early, undefined, 'the calls of a living host')
        ?? unlessSame([isGone, taken.filter((found) => found !== undefined).length], [true, 1], 'the number of winners')
        ?? unlessSame(winner?.map(({ callId }) => callId), ['open'])
        ?? unlessSame(left, ['b', 'c'], 'the list of hosts')
    },
  },
  {
    id: 'store-seat-lost', level: 'must', spec: SPEC,
    statement: 'A host whose seat was removed starts nothing and begins nothing: StoreUnavailable with `seat-lost`.',
    why: 'Others have settled its calls, and act on what it had not begun.',
    cure: 'Look for the seat in the step that starts a call.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair) return undefined
      const entry = pair.mine.open(callOf('early'))
      await entry.start({ at: 1, revision: undefined, isInline: true })
      await pair.other.discard('a')
      const late = await settle(() => start(pair.mine, 'late'), bench)
      const begun = await settle(async () => entry.begin(EFFECT), bench)
      const { reason } = (late.error?.data ?? {}) as { readonly reason?: string }
      return unlessRejected(late, 'StoreUnavailable') ?? unlessSame(reason, 'seat-lost', 'the reason')
        ?? unlessRejected(begun, 'StoreUnavailable')
    },
  },
])

export const GATE = storeGroup([
  {
    id: 'store-start-revision', level: 'must', spec: SPEC,
    statement: 'A call starts only if no approval has changed since the revision of its decision, if it has one.',
    why: 'A revocation holds before the next call of any host.',
    cure: 'Compare the revision in the step that starts the call.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair) return undefined
      const before = await pair.here.revision()
      const first = await start(pair.mine, 'one', before)
      await pair.stores[1].write('approval', 'key', { ended: null })
      const found = [
        first, await start(pair.mine, 'two', before), await start(pair.mine, 'three'),
        await start(pair.mine, 'four', await pair.here.revision()),
      ].map(({ is }) => is)
      const listed = await within(bench.patienceMs, async () => (await calls(pair.there, 'a')).join() === 'four,one,three')
      return unlessSame(found, ['started', 'changed', 'started', 'started'])
        ?? (listed ? undefined : 'the started calls are not those that are listed')
    },
  },
  {
    id: 'store-freeze', level: 'must', spec: SPEC,
    statement: 'A freeze stops every host from starting calls and further attempts, until it is thawed.',
    why: 'People must be able to stop everything at once.',
    cure: 'Look at the freeze in the step that starts a call.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair) return undefined
      const running = pair.mine.open(callOf('runs'))
      const terms = { at: 1, revision: undefined, isInline: true }
      await running.start(terms)
      const { freeze, unconfirmed } = await pair.there.freeze({ by: 'Ada', reason: 'test' })
      const stopped = [await start(pair.mine, 'one'), await start(pair.other, 'two'), await running.start(terms)]
      const report = [await pair.here.frozen(), (await pair.here.hosts()).map(({ isFrozen }) => isFrozen)]
      const second = (await pair.here.freeze({ by: 'Bob', cancel: true })).freeze
      const thawed = [await pair.there.thaw(), await pair.there.thaw(), await pair.here.frozen()]
      const after = [await start(pair.mine, 'three'), await start(pair.other, 'four')]
      return unlessSame([freeze.by, freeze.reason, Number.isInteger(freeze.since)], ['Ada', 'test', true], 'the freeze')
        ?? unlessSame(unconfirmed, [], 'the list of hosts that did not confirm')
        ?? unlessSame(stopped, stopped.map((): Started => ({ is: 'frozen', freeze })), 'what was started')
        ?? unlessSame(report, [freeze, [true, true]], 'what other hosts see')
        ?? unlessSame(thawed, [second, undefined, undefined], 'what was thawed')
        ?? unlessSame(after.map(({ is }) => is), ['started', 'started'], 'what starts after the thaw')
    },
  },
  {
    id: 'store-freeze-race', level: 'must', spec: SPEC,
    statement: 'After a freeze has resolved, no start that was under way has begun later.',
    why: 'A confirmed freeze must mean that nothing starts.',
    cure: 'Take a shared lock in the step that starts a call, and an exclusive one to freeze.',
    async check(bench) {
      const pair = await pairOf(bench)
      if (!pair) return undefined
      const before: Promise<Started>[] = []
      for (let n = 0; n < 40; n++) before.push(start(n % 2 === 0 ? pair.mine : pair.other, `c${n}`))
      await pair.here.freeze({ by: 'Ada' })
      // Others are listed because they wait.
      const seen = (await pair.here.hosts()).flatMap((host) => host.calls).filter(({ startedAt }) => startedAt === 1).length
      const started = (await Promise.all(before)).filter(({ is }) => is === 'started').length
      return unlessSame(seen, started, 'the number of calls that are listed once it is frozen')
    },
  },
  {
    id: 'store-freeze-heard', level: 'must', spec: SPEC,
    statement: 'Every host hears of a freeze and of its end, also one that joins later.',
    why: 'A freeze may cancel what runs, and no person is asked while it lasts.',
    cure: 'Call the listener, at the latest with the next heartbeat.',
    async check(bench) {
      const heard: (Freeze | undefined)[] = []
      const listener: SeatListener = { ...SILENT, onGate: (freeze) => void heard.push(freeze) }
      const pair = await pairOf(bench, listener)
      if (!pair) return undefined
      const { freeze } = await pair.here.freeze({ by: 'Ada', cancel: true })
      await within(bench.patienceMs, async () => heard.length > 0)
      await pair.there.join(infoOf('c'), listener)
      await within(bench.patienceMs, async () => heard.length > 1)
      await pair.here.thaw()
      await within(bench.patienceMs, async () => heard.length > 3)
      return unlessSame(heard, [freeze, freeze, undefined, undefined], 'what was heard')
    },
  },
])

/** Whether something comes true in time. */
async function within(patienceMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + patienceMs
  while (!await isTrue()) {
    if (performance.now() > end) return false
    await sleep(10)
  }
  return true
}
