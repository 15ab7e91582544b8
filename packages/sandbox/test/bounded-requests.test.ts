import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { boundedRequests } from '../src/session/bounded-requests.ts'
import type { BrokerMethods } from '../../broker/src/broker.ts'

/** One text, however often it is given. */
const LONG = 'a'.repeat(60 * 1024 * 1024)

function ground() {
  const begun: ((value: Json) => void)[] = []
  const write = (): Promise<Json> => new Promise((end) => void begun.push(end))
  const names = ['fs.write', 'fs.read', 'state.write', 'interact', 'log'] as const
  const methods = Object.fromEntries(names.map((name) => [name, write])) as unknown as BrokerMethods
  return { begun, methods: boundedRequests(methods) }
}

describe('what the host holds of a compartment until it has answered', () => {
  it('is held up to a bound, whichever method takes it, and made room for when it is answered', async () => {
    const { begun, methods } = ground()
    const first = methods['fs.write']('call', 'one', 'text', LONG)
    void methods['state.write']('call', { deep: [LONG] })
    const refused: unknown = await methods['fs.write']('call', 'two', 'text', LONG).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'ResourceBusy' })
    expect(refused).not.toHaveProperty('stack')
    expect(begun.length).toBe(2)
    begun[0]!('done')
    expect(await first).toBe('done')
    void methods['fs.write']('call', 'two', 'text', LONG)
    expect(begun.length).toBe(3)
  })

  it('is one thing at least, however long it is', () => {
    const { begun, methods } = ground()
    void methods['state.write']('call', [LONG, LONG, LONG])
    expect(begun.length).toBe(1)
  })

  it.each(['fs.read', 'interact'] as const)('is bounded also where %s waits, with more than it has a use for', async (name) => {
    const { begun, methods } = ground()
    void methods[name]('call', 'path', 'text', {}, LONG)
    void methods[name]('call', { kind: 'Ask', prompt: 'x', more: LONG })
    await expect(methods[name]('call', LONG)).rejects.toMatchObject({ code: 'ResourceBusy' })
    expect(begun.length).toBe(2)
  })

  it('may be whatever JSON is', () => {
    const { begun, methods } = ground()
    void methods['fs.write']('call', null, 5, { a: [true, null] }, LONG)
    expect(begun.length).toBe(1)
  })

  it('does not count where it is short, or answered at once', () => {
    const { begun, methods } = ground()
    for (let count = 0; count < 3; count++) void methods['log']('call', LONG)
    void methods['fs.write']('call', 'one', 'text', [LONG, LONG])
    void methods['fs.write']('call', 'two', 'text', 'short')
    expect(begun.length).toBe(5)
  })
})
