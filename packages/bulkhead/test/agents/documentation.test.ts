import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { afterAll, expect, it } from 'vitest'
import { BLOCKS, ROOT } from '../pages/blocks.ts'

const folder = mkdtempSync(join(tmpdir(), 'agents-page-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('the program of docs/guides/agents.md prints what the page shows', () => {
  const index = BLOCKS.findIndex(({ page, file }) => page === 'docs/guides/agents.md' && file === 'delegate.ts')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  mkdirSync(join(folder, 'work'))
  writeFileSync(join(folder, 'work/notes.md'), 'one\n')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'delegate.ts'), BLOCKS[index]!.text)
  const env = { NO_COLOR: '1', HOME: folder, PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
  const printed = execFileSync(process.execPath, ['../delegate.ts'], { cwd: join(folder, 'work'), encoding: 'utf8', env })
  expect(printed).toBe(BLOCKS[index + 1]!.text)
})
