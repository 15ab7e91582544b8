import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createTestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'

const COLLECT = `export default { tools: { collect: { execute: (_, { fs }) => Promise.all(
  ['a.txt', 'secrets/k.txt'].map((path) => fs.readText(path).catch(() => 'denied')),
) } } }`

it('a deny for a capability refuses that path, and not the tool', async () => {
  await using host = await createTestHost({
    cache: CACHE,
    config: { ...IN_THREADS, mode: 'yolo', rules: [{ permission: 'fs.read', pattern: 'secrets/**', action: 'deny' }] },
  })
  writeExtension(host.home, {
    id: 'collector', tools: [{ name: 'collect', requires: { fs: { read: ['{workspace}/**'] } } }],
  }, COLLECT)
  await host.reload()
  mkdirSync(join(host.workspace, 'secrets'))
  for (const name of ['a.txt', 'secrets/k.txt']) writeFileSync(join(host.workspace, name), 'needle')
  const session = await host.openSession()
  expect(await session.call({ id: 'a', name: 'collect', arguments: {} })).toSucceedWith(['needle', 'denied'])
  const found = await session.call({ id: 'b', name: 'grep', arguments: { pattern: 'needle' } })
  expect(found).toMatchObject({ type: 'output', data: { matches: [{ path: 'a.txt' }] } })
})
