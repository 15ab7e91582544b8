import type { Json } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { boundedWrites } from '../src/main/bounded-writes.ts'
import type { BrokerMethods } from '../src/main/broker/broker.ts'

/** One text, however often it is given. */
const LONG = 'a'.repeat(60 * 1024 * 1024)

function ground() {
  const begun: ((value: Json) => void)[] = []
  const write = (): Promise<Json> => new Promise((end) => void begun.push(end))
  const names = ['fs.write', 'fs.edit', 'state.write', 'session.write', 'shell.run'] as const
  const methods = Object.fromEntries(names.map((name) => [name, write])) as unknown as BrokerMethods
  return { begun, methods: boundedWrites(methods) }
}

describe('what a compartment has on its way to be written', () => {
  it('is held up to a bound, whichever method takes it, and made room for when it is written', async () => {
    const { begun, methods } = ground()
    const first = methods['fs.write']('call', 'one', 'text', LONG)
    void methods['state.write']('call', { deep: [LONG] })
    await expect(methods['fs.write']('call', 'two', 'text', LONG)).rejects.toMatchObject({ code: 'ResourceBusy' })
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

  it('does not count for methods that write nothing', () => {
    const { begun, methods } = ground()
    for (let count = 0; count < 4; count++) void methods['shell.run']('call', LONG)
    expect(begun.length).toBe(4)
  })
})
