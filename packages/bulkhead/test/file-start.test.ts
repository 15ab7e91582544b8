import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { fileStart } from '../src/facade/file-start.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-file-start-')))
const workspace = join(root, 'workspace')
for (const folder of ['workspace/.git', 'outside']) mkdirSync(join(root, folder), { recursive: true })
for (const file of ['workspace/.git/config', 'workspace/long', 'outside/config'])
  writeFileSync(join(root, file), `${file}\n${'x'.repeat(100_000)}`)
symlinkSync(join(root, 'outside'), join(workspace, 'linked'))
symlinkSync(join(root, 'outside/config'), join(workspace, 'link'))
execFileSync('mkfifo', [join(workspace, 'pipe')])
afterAll(() => rmSync(root, { recursive: true }))

it('reads the beginning of a file in the workspace', () => {
  expect(fileStart(workspace, '.git/config')).toMatch(/^workspace\/\.git\/config\nx+$/)
  expect(fileStart(workspace, 'long')?.length).toBe(64 * 1024)
})

it.each(['link', 'linked/config', '../outside/config', 'pipe', '.git', 'nowhere'])('returns nothing for %s', (path) => {
  expect(fileStart(workspace, path)).toBeUndefined()
})
