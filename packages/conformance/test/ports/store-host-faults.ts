import { setTimeout as sleep } from 'node:timers/promises'
import type { CallEntry, Seat, Work } from '@bulkhead/contract'
import { changed, lenient, type FaultyStore } from './faulty-store.ts'

const works = (change: (work: Work) => Partial<Work>) => changed(({ work: own }) => own ? { work: {
  join: (info, listener) => own.join(info, listener), hosts: () => own.hosts(), isGone: (id) => own.isGone(id),
  revision: () => own.revision(), frozen: () => own.frozen(), freeze: (freeze) => own.freeze(freeze),
  thaw: () => own.thaw(), ...change(own),
} } : {})
const seats = (change: (seat: Seat) => Partial<Seat>) => works((own) => ({
  async join(info, listener) {
    const seat = await own.join(info, listener)
    return {
      id: seat.id, open: (call) => seat.open(call), describe: (one) => seat.describe(one),
      show: (kind, id, row) => seat.show(kind, id, row), hide: (kind, id) => seat.hide(kind, id),
      takeOver: (host) => seat.takeOver(host), discard: (host) => seat.discard(host), settled: () => seat.settled(),
      leave: () => seat.leave(), ...change(seat),
    }
  },
}))
const entries = (change: (entry: CallEntry) => Partial<CallEntry>) => seats((seat) => ({
  open(call) {
    const entry = seat.open(call)
    return {
      start: (how) => entry.start(how), begin: (effect) => entry.begin(effect), end: () => entry.end(),
      ...change(entry),
    }
  },
}))

export const FAULTY_HOSTS: Readonly<Record<string, FaultyStore>> = {
  'drops no calls': { breaks: ['store-calls'], wrap: entries(() => ({ end: () => undefined })) },
  'lists calls that have started': {
    breaks: ['store-calls-waiting'],
    wrap: seats((seat) => ({
      open(call) {
        let entry: CallEntry | undefined
        return {
          start: (how) => (entry ??= seat.open(call)).start(how), begin: (effect) => entry!.begin(effect),
          end: () => entry?.end(),
        }
      },
    })),
  },
  'shares the id of a host': {
    breaks: ['store-join-once'],
    wrap: works((own) => ({
      join: (info, listener) =>
        own.join(info, listener).catch(() => own.join({ ...info, id: `${info.id} 2` }, listener)),
    })),
  },
  'hides nothing': { breaks: ['store-shown'], wrap: seats(() => ({ hide: () => undefined })) },
  'hands calls to everyone': {
    breaks: ['store-take-over'], wrap: seats((seat) => ({ takeOver: async (host) => await seat.takeOver(host) ?? [] })),
  },
  'starts calls of a host that lost its seat': {
    breaks: ['store-seat-lost'],
    wrap: entries((entry) => ({ start: (how) => lenient(entry.start(how), { is: 'started' }) })),
  },
  'does not compare the revision': {
    breaks: ['store-start-revision'],
    wrap: entries((entry) => ({ start: (how) => entry.start({ ...how, revision: undefined }) })),
  },
  'freezes only new calls': {
    breaks: ['store-freeze'],
    wrap: entries((entry) => {
      let hasStarted = false
      return {
        start: async (how) => {
          const started = await entry.start(how)
          const before = hasStarted
          hasStarted ||= started.is === 'started'
          return before ? { is: 'started' } : started
        },
      }
    }),
  },
  'starts a call in two steps': {
    breaks: ['store-freeze', 'store-freeze-race'],
    wrap: entries((entry) => ({
      start: async (how) => {
        await sleep(50)
        const started = await entry.start(how)
        return started.is === 'frozen' ? { is: 'started' } : started
      },
    })),
  },
  'tells no host of a thaw': {
    breaks: ['store-freeze-heard'],
    wrap: works((own) => ({
      join: (info, listener) => own.join(info, {
        onGate: (freeze) => { if (freeze) listener.onGate(freeze) }, onRevision: () => listener.onRevision(),
        onLost: () => listener.onLost(), onGone: () => listener.onGone(), onFault: (error) => listener.onFault(error),
      }),
    })),
  },
}
