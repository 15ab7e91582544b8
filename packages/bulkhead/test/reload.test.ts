import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, type CreateHostOptions, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
let host: Host | undefined
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-reload-'))) })
afterEach(async () => {
  await host?.close()
  rmSync(folder, { recursive: true })
})

const CALLS = { name: 'say', idempotent: true } as const
const code = (text: string) => `export default { tools: { say: { execute: () => '${text}' } } }`
const write = (workspace: string, text: string, source = code(text)) =>
  writeExtension(join(workspace, '.bulkhead'), { id: 'speaker', version: '1.0.0', tools: [CALLS] }, source)
const open = async (workspace: string, watch?: NonNullable<CreateHostOptions['watch']>) =>
  createHost({
    workspace, home: join(folder, 'home'), cache: CACHE, trust: 'once', config: IN_THREADS, ...(watch ? { watch } : {}),
  })
const callSay = async (from: Host) => {
  const session = await from.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'c', name: 'say', arguments: {} })
  await session.close()
  return outcome.type === 'output' ? outcome.data : outcome.error.code
}

it('uses edited files, and keeps the last good version if the edit fails', async () => {
  write(folder, 'first')
  host = await open(folder)
  expect(await callSay(host)).toBe('first')
  write(folder, 'second')
  expect((await host.reload()).changes).toMatchObject([
    { extension: 'speaker', result: 'reloaded', generation: expect.any(Number) },
  ])
  expect(await callSay(host)).toBe('second')
  write(folder, 'third', 'export default { tools: {')
  expect((await host.reload()).changes).toMatchObject([{ result: 'failed', error: { code: 'CompartmentStartFailed' } }])
  writeFileSync(join(folder, '.bulkhead/tools/speaker/bulkhead.json'), '{ "kind": "Tool", ')
  expect((await host.reload()).changes).toMatchObject([{ result: 'failed', error: { code: 'ShapeInvalid' } }])
  expect(await callSay(host)).toBe('second')
  rmSync(join(folder, '.bulkhead/tools/speaker'), { recursive: true })
  expect((await host.reload()).changes).toMatchObject([{ result: 'removed' }])
  expect(await callSay(host)).toBe('ToolNotRegistered')
})

it('reloads once for a burst of change events', async () => {
  write(folder, 'first')
  let stir: () => void = () => {}
  let watching = false
  host = await open(folder, (onChange) => {
    stir = onChange
    watching = true
    return () => { watching = false }
  })
  expect(await callSay(host)).toBe('first')
  const reloaded = Promise.withResolvers<void>()
  let reloads = 0
  host.on((event) => {
    if (event.type !== 'ExtensionReloaded') return
    reloads++
    reloaded.resolve()
  })
  for (let i = 0; i <= 200; i++) {
    write(folder, `edit ${i}`)
    stir()
  }
  await reloaded.promise
  expect(await callSay(host)).toBe('edit 200')
  expect(reloads).toBe(1)
  await host.close()
  expect(watching).toBe(false)
})

it('watches real files, and reloads once for many edits', async () => {
  write(folder, 'first')
  host = await open(folder, true)
  expect(await callSay(host)).toBe('first')
  let reloads = 0
  const reloaded = Promise.withResolvers<void>()
  host.on((event) => {
    if (event.type !== 'ExtensionReloaded') return
    reloads++
    reloaded.resolve()
  })
  for (let i = 0; i <= 100; i++) write(folder, `edit ${i}`)
  await reloaded.promise
  expect(await callSay(host)).toBe('edit 100')
  expect(reloads).toBe(1)
})

it('switches projects with their layers and files', async () => {
  const [here, there] = [join(folder, 'here'), join(folder, 'there')]
  write(here, 'here')
  write(there, 'there')
  host = await open(here)
  expect(await callSay(host)).toBe('here')
  await expect(host.switchWorkspace(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'ProjectPathInvalid' })
  expect(await callSay(host)).toBe('here')
  const { unloaded } = await host.switchWorkspace(there, { trust: 'once' })
  expect(await unloaded).toEqual({ stopped: ['speaker'], faults: [] })
  expect(await callSay(host)).toBe('there')
})
