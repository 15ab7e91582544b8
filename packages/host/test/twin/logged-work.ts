import type { CallEntry, Seat, Work } from '@bulkhead/contract'
import { SoleWork } from '../../src/records/sole-work.ts'
import { MemoryStore } from './store.ts'

/** A store that logs what its seats are asked for, by the id of the call. */
export function loggedStore(log: string[], faults: Partial<CallEntry> = {}): MemoryStore {
  const forgetful = Object.assign(new MemoryStore(), { forgets: true })
  const work = new SoleWork(forgetful, forgetful, { id: 'me', isGone: () => true })
  const join: Work['join'] = async (host, listener) => {
    const seat = await work.join(host, listener)
    const open: Seat['open'] = (call) => {
      const entry = seat.open(call)
      return {
        start: (start) => {
          log.push(`start ${call.callId}${start.begins ? `, ${start.begins.what}` : ''}`)
          return entry.start(start)
        },
        begin: (effect) => {
          log.push(`begin ${call.callId}`)
          return entry.begin(effect)
        },
        end: () => {
          log.push(`end ${call.callId}`)
          entry.end()
        },
        ...faults,
      }
    }
    return new Proxy(seat, {
      get: (target, key) => {
        if (key === 'open') return open
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  const logged = new Proxy(work, {
    get: (target, key) => {
      if (key === 'join') return join
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return Object.assign(new MemoryStore(), { work: logged })
}
