/** Runs with --expose-gc: prints the memory of a loaded extension in bytes, without its files. */
import { createLoader } from '../../src/load/loader.ts'
import { schemaPool } from '../../src/schema/schema-checker.ts'

const [first, global, workspace, cache] = process.argv.slice(2) as [string, string, string, string]
const used = (): number => {
  globalThis.gc?.()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}
const load = (root: string) =>
  createLoader({ coreVersion: '1.0.0', roots: { global: root }, bundled: [], cache }).load({
    workspace, trust: 'declined', projectDigest: 'any',
  })

await load(first)
// Loads the code of the schema thread once, so that it does not count.
await schemaPool.load()
const before = used()
const { extensions } = await load(global)
process.stdout.write(JSON.stringify({ count: extensions.length, bytesEach: (used() - before) / extensions.length }))
