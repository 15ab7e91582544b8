import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-places-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** Identifies compartments: each has a random number. */
const WHO = `const who = Math.random()
export default { tools: { who: { execute: () => who } } }`

const host = async (config: ConfigFile) =>
  createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, config })

it('distributes the calls of an extension over the configured number of compartments', async () => {
  writeExtension(join(folder, 'home'), { id: 'who', tools: [{ name: 'who' }] }, WHO)
  const wide = await host({ isolation: { global: 'thread' }, extensions: { who: { compartments: 3 } } })
  const session = await wide.openSession({ mode: 'yolo' })
  const outcomes = await Promise.all(
    Array.from({ length: 9 }, (_, n) => session.call({ id: `c${n}`, name: 'who', arguments: {} })),
  )
  const answers = outcomes.map((outcome) => outcome.type === 'output' ? outcome.data : outcome.error_text)
  await wide.close()
  expect(new Set(answers).size).toBe(3)
  expect(answers.every((answer) => typeof answer === 'number')).toBe(true)
})

it('does not distribute a stateful extension, and reports the setting', async () => {
  writeExtension(
    join(folder, 'home'), { id: 'who', stateSlot: { slotVersion: '1', schema: {} }, tools: [{ name: 'who' }] }, WHO,
  )
  const refused = await host({ extensions: { who: { compartments: 3 } } })
  const { diagnostics } = refused
  await refused.close()
  expect(diagnostics).toMatchObject([
    { extensionId: 'who', code: 'ConfigSchemaViolation', path: '/extensions/who/compartments' },
  ])
})

it('closes an idle compartment, and restarts it for the next call', async () => {
  writeExtension(join(folder, 'home'), { id: 'who', tools: [{ name: 'who' }] }, WHO)
  const sleepy = await host({ isolation: { global: 'thread' }, sandbox: { idleMs: 1 } })
  const session = await sleepy.openSession({ mode: 'yolo' })
  let calls = 0
  const who = async () => {
    const outcome = await session.call({ id: `c${++calls}`, name: 'who', arguments: {} })
    return outcome.type === 'output' ? outcome.data : outcome.error_text
  }
  const first = await who()
  expect(first).toBeTypeOf('number')
  await expect.poll(who, { interval: 20 }).not.toBe(first)
  expect(await who()).toBeTypeOf('number')
  await sleepy.close()
})
