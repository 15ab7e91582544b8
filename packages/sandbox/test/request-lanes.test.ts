import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as later } from 'node:timers/promises'
import type { Json } from '@bulkhead/kit/json'
import { BROKER_METHODS } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import type { BrokerMethods } from '../../broker/src/broker.ts'
import { limitRequests } from '../src/session/request-limits.ts'
import { invocation, newSandbox, requestOf, REMOTE, running, temporaryFolder, toolOf } from './fixture.ts'

const AT_ONCE = 8
const MUCH = 9 * 1024 * 1024
const READS = thoroughly(12, 40)

/** A broker whose methods return on demand, and a wire with so many unread bytes. */
function setUp() {
  const begun: { readonly end: (value: Json) => void; readonly fail: (error: Error) => void }[] = []
  const wire = { queuedBytes: 0 }
  const read = (): Promise<Json> => new Promise((end, fail) => void begun.push({ end, fail }))
  const methods = Object.fromEntries(
    Object.keys(BROKER_METHODS).map((name) => [name, read]),
  ) as unknown as BrokerMethods
  return { begun, wire, reads: limitRequests(methods, () => wire.queuedBytes) }
}

describe('requests with long replies', () => {
  it('start a few at a time and in order, across the methods of a lane', async () => {
    const { begun, reads } = setUp()
    const answers = Array.from(
      { length: 20 }, (_, index) => reads.methods[index % 2 === 0 ? 'fs.read' : 'state.read']('call'),
    )
    expect(begun.length).toBe(AT_ONCE)
    begun[0]!.end('first')
    begun[1]!.fail(new Error('torn'))
    expect(await answers[0]).toBe('first')
    await expect(answers[1]).rejects.toThrow('torn')
    await later()
    expect(begun.length).toBe(AT_ONCE + 2)
    for (let index = 2; index < 20; index++) {
      begun[index]!.end(index)
      expect(await answers[index]).toBe(index)
      await later()
    }
  })

  it('do not start while many bytes are unread, and start when they have been read', async () => {
    const { begun, wire, reads } = setUp()
    wire.queuedBytes = MUCH
    const answer = reads.methods['fs.read']('call')
    expect(begun.length).toBe(0)
    reads.resume()
    expect(begun.length).toBe(0)
    wire.queuedBytes = 0
    reads.resume()
    begun[0]!.end('read')
    expect(await answer).toBe('read')
  })

  it.each(['fs.stat', 'fs.write', 'fs.edit', 'fs.apply', 'fs.remove'] as const)(
    'include %s, which uses a disk',
    (method) => {
      const { begun, reads } = setUp()
      for (let count = 0; count < 20; count++) void reads.methods[method]('call')
      expect(begun.length).toBe(AT_ONCE)
    },
  )

  it.each(['fs.read', 'fs.list', 'fs.glob', 'fs.find', 'fs.search', 'state.read', 'session.read'] as const)(
    'include %s, which may start a process or hold megabytes', (method) => {
      const { begun, reads } = setUp()
      for (let count = 0; count < 20; count++) void reads.methods[method]('call')
      expect(begun.length).toBe(AT_ONCE)
    },
  )

  it('do not delay other methods, and are not delayed by searches', () => {
    const { begun, reads } = setUp()
    for (let count = 0; count < 20; count++) void reads.methods['shell.run']('call')
    expect(begun.length).toBe(20)
    for (let count = 0; count < 20; count++) void reads.methods['fs.search']('call')
    void reads.methods['fs.read']('call')
    expect(begun.length).toBe(20 + AT_ONCE + 1)
  })
})

describe.each(REMOTE)('code in a %s', (placement) => {
  it('gets all files that it reads at once, although the host does not hold all of them in memory', LONG, async () => {
    const workspace = await temporaryFolder()
    await writeFile(join(workspace, 'long.txt'), 'a'.repeat(8_000_000))
    const source = running(`
      const texts = await Promise.all(
        Array.from({ length: ${READS} }, () => runtime.fs.readText('long.txt').then((text) => text.length)),
      )
      return texts.reduce((sum, length) => sum + length, 0)
    `)
    const tools = [toolOf('run', { fs: { read: ['**'] } }, workspace)]
    const session = await newSandbox(workspace).open(requestOf({ placement, source, tools }))
    expect(await session.call(invocation())).toBe(READS * 8_000_000)
  })
})
