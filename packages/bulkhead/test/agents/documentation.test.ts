import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { BLOCKS, ROOT } from '../pages/blocks.ts'
import { runProgram } from '../program-inside.ts'

const folder = mkdtempSync(join(tmpdir(), 'agents-page-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('the program of docs/guides/agents.md prints what the page shows', LONG, async () => {
  const index = BLOCKS.findIndex(({ page, file }) => page === 'docs/guides/agents.md' && file === 'delegate.ts')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  mkdirSync(join(folder, 'work'))
  writeFileSync(join(folder, 'work/notes.md'), 'one\n')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'delegate.ts'), BLOCKS[index]!.text)
  const ran = await runProgram({
    file: '../delegate.ts', cwd: join(folder, 'work'), env: { HOME: folder, PATH: '/usr/bin:/bin' },
  })
  expect(ran).toEqual({ code: 0, stdout: BLOCKS[index + 1]!.text, stderr: '' })
})
