import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { rememberedWalls, rememberWalls } from '../src/facade/remembered-walls.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-remembered-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const LINE = 'tools: permission model; commands: nothing; servers: refused'
const file = () => join(folder, 'cache/walls.json')
const remembered = () => rememberedWalls(join(folder, 'cache'))

it('what the last trial showed is remembered', () => {
  expect(remembered()).toBeUndefined()
  for (const line of ['older', LINE]) rememberWalls(join(folder, 'cache'), line)
  expect(remembered()).toBe(LINE)
})

it('a line of another machine, or of this one before it changed, is not shown', () => {
  rememberWalls(join(folder, 'cache'), LINE)
  const kept = JSON.parse(readFileSync(file(), 'utf8')) as { machine: string }
  writeFileSync(file(), JSON.stringify({ ...kept, machine: kept.machine.replace(process.version, 'v20.0.0') }))
  expect(remembered()).toBeUndefined()
  writeFileSync(file(), JSON.stringify(kept))
  expect(remembered()).toBe(LINE)
})

it.each<[string, () => void]>([
  ['is empty', () => writeFileSync(file(), '')],
  ['is not JSON', () => writeFileSync(file(), '{')],
  ['has no text', () => writeFileSync(file(), readFileSync(file(), 'utf8').replace(JSON.stringify(LINE), '7'))],
  ['others can write', () => chmodSync(file(), 0o666)],
  ['is a link', () => {
    writeFileSync(join(folder, 'elsewhere'), readFileSync(file()), { mode: 0o600 })
    rmSync(file())
    symlinkSync(join(folder, 'elsewhere'), file())
  }],
])('a file that %s counts as none', (_, spoil) => {
  rememberWalls(join(folder, 'cache'), LINE)
  spoil()
  expect(remembered()).toBeUndefined()
})

it('a cache that cannot be written is no fault', () => {
  writeFileSync(join(folder, 'cache'), '')
  expect(() => rememberWalls(join(folder, 'cache'), LINE)).not.toThrow()
})
