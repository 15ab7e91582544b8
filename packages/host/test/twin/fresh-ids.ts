import type { Host, Session } from '../../src/index.ts'

/**
 * A session refuses an id that it has seen. Most tests are about something else and repeat one: `c1` becomes `c1.2` the
 * second time.
 */
export function withFreshIds(host: Host): Host {
  const open = host.openSession.bind(host)
  host.openSession = async (...options) => freshIds(await open(...options))
  return host
}

/** undefined for calls that cannot be read, which are tests of their own. */
function idOf(call: unknown): unknown {
  try {
    return (call as { readonly id?: unknown }).id
  } catch {
    return undefined
  }
}

function freshIds(session: Session): Session {
  const used = new Map<unknown, number>()
  const fresh = <Call>(call: Call): Call => {
    const id = idOf(call)
    const count = (used.get(id) ?? 0) + 1
    used.set(id, count)
    return count === 1 || typeof id !== 'string' || id === '' ? call : { ...call, id: `${id}.${count}` }
  }
  const call = session.call.bind(session)
  const callAll = session.callAll.bind(session)
  return Object.assign(session, {
    call: ((one, ...options) => call(fresh(one), ...options)) satisfies Session['call'],
    callAll: ((all, ...options) =>
      callAll(Array.isArray(all) ? all.map(fresh) : all, ...options)) satisfies Session['callAll'],
  })
}
