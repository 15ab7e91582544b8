import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-thread-'))
  mkdirSync(join(folder, 'own'))
  for (const id of ['greeter', 'other']) {
    const code = `export default { tools: { ${id}: { execute: () => 1 } } }`
    writeExtension(join(folder, 'own'), { id, tools: [{ name: id }] }, code)
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

it('a list of tools names the extensions in threads, and what is not bounded there', async () => {
  const own = ['--home', join(folder, 'own')]
  const list = async (...more: readonly string[]) => (await inside(['tools', ...own, ...more], folder)).stdout
  expect(await list()).not.toContain('array buffers')
  expect(JSON.parse(await list('--json'))).toMatchObject({ inThreads: [] })
  writeFileSync(join(folder, 'own/config.json'), JSON.stringify({ extensions: { greeter: { isolation: 'thread' } } }))
  expect(await list()).toContain('greeter runs in a thread of the host\'s process: no wall is around it, '
    + 'and its memory outside the heap, such as array buffers, is not bounded.')
  expect(JSON.parse(await list('--json'))).toMatchObject({ inThreads: ['greeter'] })
})
