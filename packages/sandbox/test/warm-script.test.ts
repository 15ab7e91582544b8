import { Script } from 'node:vm'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { buildImage } from '../src/process/image.ts'
import { threadStarter } from '../src/process/thread-hull.ts'
import { warmScript } from '../src/process/image.ts'

it('has a larger code cache than after compilation, is accepted by V8, and starts a thread', LONG, async () => {
  const image = await buildImage()
  const warm = await warmScript(image)
  expect(warm?.text).toBe(image.script.text)
  expect(warm!.cache.length).toBeGreaterThan(1.5 * image.script.cache.length)
  const compiled = new Script(warm!.text, { filename: 'compartment', cachedData: Buffer.from(warm!.cache) })
  expect(compiled.cachedDataRejected).toBe(false)
  const hull = threadStarter({ ...image, script: warm! })(DEFAULT_LIMITS, false)
  onTestFinished(() => hull.kill())
  expect(await hull.ready).toBe(true)
})

it.each([
  ['cannot be run', 'throw new Error("no")'],
  ['ends its thread', 'process.exit(0)'],
  ['is not even JavaScript', 'this is not'],
])('is absent when the script %s', async (_what, text) => {
  const image = await buildImage()
  expect(await warmScript({ ...image, script: { text, cache: new Uint8Array() } })).toBe(undefined)
})
