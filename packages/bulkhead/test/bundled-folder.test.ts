import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost } from '../src/index.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-shipped-'))) })
afterEach(() => rmSync(folder, { recursive: true }))

it('an extension that an embedder bundles needs its integrity file, and runs like any other', LONG, async () => {
  const product = join(folder, 'product')
  const at = writeExtension(
    product, { id: 'greet', tools: [{ name: 'greet' }] },
    'export default { tools: { greet: { execute: () => "hello" } } }',
  )
  const open = () =>
    createHost({ workspace: folder, home: join(folder, 'home'), bundledFolder: product, trust: 'declined' })

  const bare = await open()
  expect(bare.diagnostics).toMatchObject([{ code: 'IntegrityTokenMissing', layer: 'bundled', extensionId: 'greet' }])
  expect(bare.tool('greet')).toBeUndefined()
  await bare.close()

  expect(await inside(['pack', at, '--out', folder], folder)).toMatchObject({ code: 0 })
  const packed = await open()
  expect(packed.diagnostics).toEqual([])
  const session = await packed.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'c1', name: 'greet', arguments: {} })
  expect(outcome).toMatchObject({ type: 'output', data: 'hello', metadata: { origin: { layer: 'bundled' } } })
  await packed.close()
})
