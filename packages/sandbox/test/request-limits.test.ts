import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { limitRequests } from '../src/session/request-limits.ts'
import type { BrokerMethods } from '../../broker/src/broker.ts'

/** One string in memory, however often it is passed. */
const LONG = 'a'.repeat(60 * 1024 * 1024)

function setUp() {
  const begun: ((value: Json) => void)[] = []
  const write = (): Promise<Json> => new Promise((end) => void begun.push(end))
  const names = ['fs.write', 'fs.read', 'state.write', 'interact', 'log'] as const
  const methods = Object.fromEntries(names.map((name) => [name, write])) as unknown as BrokerMethods
  return { begun, methods: limitRequests(methods, () => 0).methods }
}

describe('the characters that the host holds for open requests', () => {
  it('have a limit across methods, and are released by the reply', async () => {
    const { begun, methods } = setUp()
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

  it('allow one request, however long it is', () => {
    const { begun, methods } = setUp()
    void methods['state.write']('call', [LONG, LONG, LONG])
    expect(begun.length).toBe(1)
  })

  it.each(['fs.read', 'interact'] as const)('count for %s as well', async (name) => {
    const { begun, methods } = setUp()
    void methods[name]('call', 'path', 'text', {}, LONG)
    void methods[name]('call', { kind: 'Ask', prompt: 'x', more: LONG })
    await expect(methods[name]('call', LONG)).rejects.toMatchObject({ code: 'ResourceBusy' })
    expect(begun.length).toBe(2)
  })

  it('count in any JSON value', () => {
    const { begun, methods } = setUp()
    void methods['fs.write']('call', null, 5, { a: [true, null] }, LONG)
    expect(begun.length).toBe(1)
  })

  it('do not count for short requests and for methods that reply at once', () => {
    const { begun, methods } = setUp()
    for (let count = 0; count < 3; count++) void methods['log']('call', LONG)
    void methods['fs.write']('call', 'one', 'text', [LONG, LONG])
    void methods['fs.write']('call', 'two', 'text', 'short')
    expect(begun.length).toBe(5)
  })
})
